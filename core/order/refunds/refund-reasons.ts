// The reasons of refunded orders, and of the licenses that were taken back.
import { formatId } from '../../ids.ts';
import type { Decision } from '../../license/admin/change/locked-license.ts';
import type { RefundedSession } from '../../payment/order-interface.ts';

export type Cause = RefundedSession['cause'];

const ORDER_REASONS: Readonly<Record<Cause, string>> = {
  refund: 'the payment was refunded',
  reversal: 'the provider reversed the payment',
  dispute: 'the payment was lost in a dispute',
};

const LICENSE_REASONS: Readonly<Record<Cause, (order: string) => string>> = {
  refund: (order) => `the payment of order ${order} was refunded`,
  reversal: (order) => `the provider reversed the payment of order ${order}`,
  dispute: (order) => `the payment of order ${order} was lost in a dispute`,
};

/** Further notes are only counted, so that the reason of an order of many licenses is short. */
const MAX_NOTES = 5;

export function orderReason(cause: Cause, notes: readonly string[]): string {
  return [ORDER_REASONS[cause], ...shortened(notes)].join('; ');
}

/** One sentence; empty without notes. */
export function joinNotes(notes: readonly string[]): string {
  return shortened(notes).join('; ');
}

/** @param orderId UUID */
export function licenseReason(cause: Cause, orderId: string): string {
  return LICENSE_REASONS[cause](formatId('ord', orderId));
}

/** Whether the refund of the order made this decision about a license, rather than an operator since. */
export function isOwn(
  decision: Decision | null,
  { id, refundedAt }: { readonly id: string; readonly refundedAt: Date | null },
): decision is Decision {
  if (decision === null || refundedAt === null) return false;
  return decision.at.getTime() === refundedAt.getTime() && decision.reason.includes(formatId('ord', id));
}

function shortened(notes: readonly string[]): string[] {
  if (notes.length <= MAX_NOTES) return [...notes];
  return [...notes.slice(0, MAX_NOTES - 1), `${notes.length - MAX_NOTES + 1} more licenses likewise`];
}
