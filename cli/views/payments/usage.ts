// JSON schemas and columns of usage log entries and their fees.
import type { FeeLine, UsageLog } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { USAGE_KINDS } from '../../../lib/presentation/enum-names.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const FEE_LINE = json.view('FeeLine', 'hub.payment.v1.FeeLine', {
  rule: json.text(),
  ruleVersion: json.integer(),
  ...MONEY.properties,
});
export type FeeLineView = json.ValueOf<typeof FEE_LINE>;

export const USAGE_LOG = json.view('UsageLog', 'hub.payment.v1.UsageLog', {
  usageLogId: json.id('use'),
  kind: json.word(USAGE_KINDS),
  sessionId: json.id('chs'),
  slot: json.text(),
  gateway: json.text(),
  gatewayTransactionId: json.text(),
  orderReference: json.text(),
  ...MONEY.properties,
  fees: json.list(json.readBy(FEE_LINE, feeLineView)),
  feeTotal: json.withDescription(MONEY, 'the sum of the fees'),
  received: json.optional(json.withDescription(MONEY, 'what the provider says the vendor receives')),
  settledAt: json.time(),
  reversedAt: json.optional(json.time('for a payment: when the provider reversed it')),
  reversesUsageLogId: json.optional(json.id('use', 'for a reversal: the entry it reverses')),
});
export type UsageView = json.ValueOf<typeof USAGE_LOG>;

export function feeLineView(line: FeeLine): FeeLineView {
  return json.viewOf(FEE_LINE, line, moneyView(line.amount));
}

export const usageView = (entry: UsageLog | undefined): UsageView =>
  json.viewOf(USAGE_LOG, entry, moneyView(entry?.amount));

export const FEE_LINE_COLUMNS: readonly Column<FeeLineView>[] = [
  ...columnsOf(FEE_LINE, { rule: 'Fee', ruleVersion: 'Version' }),
  { title: 'Amount', cell: moneyText, right: true },
];

export const USAGE_COLUMNS: readonly Column<UsageView>[] = [
  ...columnsOf(USAGE_LOG, 'usageLogId', 'kind', 'sessionId'),
  { title: 'Amount', cell: moneyText, right: true },
  { title: 'Fees', cell: (entry) => moneyText(entry.feeTotal), right: true },
  { title: 'Received', cell: ({ received }) => (received ? moneyText(received) : ''), right: true },
  ...columnsOf(USAGE_LOG, 'slot', 'settledAt', 'reversedAt', { orderReference: 'Order' }),
];
