// The reasons of refunded orders, and of the licenses that were taken back.
import { formatId } from '../../ids.ts';
import type { Decision } from '../../license/admin/change/locked-license.ts';
import type { RefundedSession } from '../../payment/order-interface.ts';

export type Cause = RefundedSession['cause'];

const REASONS: Readonly<Record<Cause, (payment: string) => string>> = {
  refund: (payment) => `${payment} was refunded`,
  reversal: (payment) => `the provider reversed ${payment}`,
  dispute: (payment) => `${payment} was lost in a dispute`,
};

/** Further notes are only counted, so that the reason of an order of many licenses is short. */
const MAX_NOTES = 5;

export function orderReason(cause: Cause, notes: readonly string[]): string {
  return [REASONS[cause]('the payment'), ...shortened(notes)].join('; ');
}

/** One sentence; empty without notes. */
export function joinNotes(notes: readonly string[]): string {
  return shortened(notes).join('; ');
}

/** @param orderId UUID */
export function licenseReason(cause: Cause, orderId: string): string {
  return REASONS[cause](`the payment of order ${formatId('ord', orderId)}`);
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
