// JSON schema and columns of duplicate payments.
import type { DuplicatePayment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { shortTime } from '../cells.ts';
import * as json from '../schema.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const DUPLICATE_PAYMENT = json.view('DuplicatePayment', 'hub.payment.v1.DuplicatePayment', {
  duplicatePaymentId: json.id('dup'),
  sessionId: json.id('chs'),
  slot: json.text(),
  gateway: json.text(),
  gatewayTransactionId: json.text(),
  bankTransactionId: json.optional(json.text("the bank's transaction id, if the provider gives it")),
  providerPaymentId: json.text(),
  ...MONEY.properties,
  foundAt: json.time(),
  resolvedAt: json.optional(json.time('when it was marked as handled')),
  resolution: json.optional(json.text('how it was handled')),
});
export type DuplicatePaymentView = json.ValueOf<typeof DUPLICATE_PAYMENT>;

export const duplicatePaymentView = (duplicate: DuplicatePayment | undefined): DuplicatePaymentView =>
  json.viewOf(DUPLICATE_PAYMENT, duplicate, moneyView(duplicate?.amount));

export const DUPLICATE_PAYMENT_FIELDS: readonly Column<DuplicatePaymentView>[] = [
  ...columnsOf(DUPLICATE_PAYMENT, { duplicatePaymentId: 'Duplicate' }, 'sessionId'),
  { title: 'Amount', cell: moneyText, right: true },
  { title: 'Slot', cell: (item) => `${item.slot} (${item.gateway})` },
  { title: 'Provider transaction', cell: (item) => item.gatewayTransactionId },
  ...columnsOf(DUPLICATE_PAYMENT, 'bankTransactionId', 'providerPaymentId'),
  { title: 'Found', cell: (item) => item.foundAt },
  { title: 'Resolved', cell: (item) => item.resolvedAt },
  { title: 'Resolution', cell: (item) => item.resolution },
];

export const DUPLICATE_PAYMENT_COLUMNS: readonly Column<DuplicatePaymentView>[] = [
  ...pick(DUPLICATE_PAYMENT_FIELDS, 'Duplicate', 'Session', 'Amount'),
  { title: 'Slot', cell: (item) => item.slot },
  ...pick(DUPLICATE_PAYMENT_FIELDS, 'Provider transaction'),
  { title: 'Found', cell: (item) => shortTime(item.foundAt) },
  ...pick(DUPLICATE_PAYMENT_FIELDS, 'Resolution'),
];
