// JSON schema and columns of duplicate payments.
import type { DuplicatePayment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { requireField } from '../../connect/require-field.ts';
import { id, object, optional, text, time, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

export const DUPLICATE_PAYMENT = object(
  'DuplicatePayment',
  {
    duplicatePaymentId: id('dup'),
    sessionId: id('chs'),
    slot: text(),
    gateway: text(),
    gatewayTransactionId: text(),
    bankTransactionId: optional(text("the bank's transaction id, if the provider gives it")),
    providerPaymentId: text(),
    ...MONEY.properties,
    foundAt: time(),
    resolvedAt: optional(time('when it was marked as handled')),
    resolution: optional(text('how it was handled')),
  },
  { message: 'hub.payment.v1.DuplicatePayment' },
);
export type DuplicatePaymentView = ValueOf<typeof DUPLICATE_PAYMENT>;

export function duplicatePaymentView(duplicate: DuplicatePayment): DuplicatePaymentView {
  const { bankTransactionId, resolvedAt, resolution } = duplicate;
  return {
    duplicatePaymentId: duplicate.duplicatePaymentId,
    sessionId: duplicate.sessionId,
    slot: duplicate.slot,
    gateway: duplicate.gateway,
    gatewayTransactionId: duplicate.gatewayTransactionId,
    ...(bankTransactionId !== '' && { bankTransactionId }),
    providerPaymentId: duplicate.providerPaymentId,
    ...moneyView(duplicate.amount),
    foundAt: rfc3339(requireField(duplicate.foundAt, 'time it was found')),
    ...(resolvedAt && { resolvedAt: rfc3339(resolvedAt) }),
    ...(resolution !== '' && { resolution }),
  };
}

export const DUPLICATE_PAYMENT_COLUMNS: readonly Column<DuplicatePaymentView>[] = [
  { title: 'DUPLICATE', cell: (item) => item.duplicatePaymentId },
  { title: 'SESSION', cell: (item) => item.sessionId },
  { title: 'AMOUNT', cell: moneyText, right: true },
  { title: 'SLOT', cell: (item) => item.slot },
  { title: 'PROVIDER TRANSACTION', cell: (item) => item.gatewayTransactionId },
  { title: 'FOUND', cell: (item) => shortTime(item.foundAt) },
  { title: 'RESOLUTION', cell: (item) => item.resolution },
];

export const DUPLICATE_PAYMENT_FIELDS: readonly Column<DuplicatePaymentView>[] = [
  { title: 'Duplicate', cell: (item) => item.duplicatePaymentId },
  { title: 'Session', cell: (item) => item.sessionId },
  { title: 'Amount', cell: moneyText },
  { title: 'Slot', cell: (item) => `${item.slot} (${item.gateway})` },
  { title: 'Provider transaction', cell: (item) => item.gatewayTransactionId },
  { title: 'Bank transaction', cell: (item) => item.bankTransactionId },
  { title: 'Provider payment', cell: (item) => item.providerPaymentId },
  { title: 'Found', cell: (item) => item.foundAt },
  { title: 'Resolved', cell: (item) => item.resolvedAt },
  { title: 'Resolution', cell: (item) => item.resolution },
];
