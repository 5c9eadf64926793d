// JSON schemas and columns of usage log entries and their fees.
import type { FeeLine, UsageLog } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { USAGE_KINDS, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  id,
  integer,
  list,
  object,
  optional,
  text,
  time,
  type ValueOf,
  withDescription,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const FEE_LINE = object(
  'FeeLine',
  { rule: text(), ruleVersion: integer(), ...MONEY.properties },
  { message: 'hub.payment.v1.FeeLine' },
);
export type FeeLineView = ValueOf<typeof FEE_LINE>;

export const USAGE_LOG = object(
  'UsageLog',
  {
    usageLogId: id('use'),
    kind: word(USAGE_KINDS),
    sessionId: id('chs'),
    slot: text(),
    gateway: text(),
    gatewayTransactionId: text(),
    orderReference: text(),
    ...MONEY.properties,
    fees: list(FEE_LINE),
    feeTotal: withDescription(MONEY, 'the sum of the fees'),
    received: optional(withDescription(MONEY, 'what the provider says the vendor receives')),
    settledAt: time(),
    reversedAt: optional(time('for a payment: when the provider reversed it')),
    reversesUsageLogId: optional(id('use', 'for a reversal: the entry it reverses')),
  },
  { message: 'hub.payment.v1.UsageLog' },
);
export type UsageView = ValueOf<typeof USAGE_LOG>;

export function feeLineView({ rule, ruleVersion, amount }: FeeLine): FeeLineView {
  return { rule, ruleVersion, ...moneyView(amount) };
}

export function usageView(entry: UsageLog): UsageView {
  return {
    usageLogId: entry.usageLogId,
    kind: wordFor(USAGE_KINDS, entry.kind),
    sessionId: entry.sessionId,
    slot: entry.slot,
    gateway: entry.gateway,
    gatewayTransactionId: entry.gatewayTransactionId,
    orderReference: entry.orderReference,
    ...moneyView(entry.amount),
    fees: entry.fees.map(feeLineView),
    feeTotal: moneyView(entry.feeTotal),
    ...(entry.received && { received: moneyView(entry.received) }),
    settledAt: rfc3339(requireField(entry.settledAt, 'time of settlement')),
    ...(entry.reversedAt && { reversedAt: rfc3339(entry.reversedAt) }),
    ...(entry.reversesUsageLogId !== '' && { reversesUsageLogId: entry.reversesUsageLogId }),
  };
}

export const FEE_LINE_COLUMNS: readonly Column<FeeLineView>[] = [
  { title: 'FEE', cell: (line) => line.rule },
  { title: 'VERSION', cell: (line) => line.ruleVersion, right: true },
  { title: 'AMOUNT', cell: moneyText, right: true },
];

export const USAGE_COLUMNS: readonly Column<UsageView>[] = [
  { title: 'USAGE LOG', cell: (entry) => entry.usageLogId },
  { title: 'KIND', cell: (entry) => entry.kind },
  { title: 'SESSION', cell: (entry) => entry.sessionId },
  { title: 'AMOUNT', cell: moneyText, right: true },
  { title: 'FEES', cell: (entry) => moneyText(entry.feeTotal), right: true },
  { title: 'RECEIVED', cell: ({ received }) => (received ? moneyText(received) : ''), right: true },
  { title: 'SLOT', cell: (entry) => entry.slot },
  { title: 'SETTLED', cell: (entry) => shortTime(entry.settledAt) },
  { title: 'REVERSED', cell: (entry) => shortTime(entry.reversedAt) },
  { title: 'ORDER', cell: (entry) => entry.orderReference },
];
