// Entries of the usage log and their fees, as hubctl prints them.
import type { FeeLine, UsageLog } from '../../gen/hub/payment/v1/payment_pb.ts';
import { USAGE_KINDS, wordFor } from '../../story/words.ts';
import { part } from '../reply.ts';
import { described, id, integer, list, type Of, object, optional, text, time, word } from '../shapes.ts';
import type { Column } from '../table.ts';
import { rfc3339, shortTime } from './cells.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const FEE_LINE = object(
  'FeeLine',
  { rule: text(), ruleVersion: integer(), ...MONEY.properties },
  { message: 'hub.payment.v1.FeeLine' },
);
export type FeeLineView = Of<typeof FEE_LINE>;

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
    feeTotal: described(MONEY, 'the sum of the fees'),
    settledAt: time(),
    reversedAt: optional(time('of a payment: when the provider took it back')),
    reversesUsageLogId: optional(id('use', 'for a reversal: the entry it reverses')),
  },
  { message: 'hub.payment.v1.UsageLog' },
);
export type UsageView = Of<typeof USAGE_LOG>;

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
    settledAt: rfc3339(part(entry.settledAt, 'time of settlement')),
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
  { title: 'SLOT', cell: (entry) => entry.slot },
  { title: 'SETTLED', cell: (entry) => shortTime(entry.settledAt) },
  { title: 'REVERSED', cell: (entry) => shortTime(entry.reversedAt) },
  { title: 'ORDER', cell: (entry) => entry.orderReference },
];
