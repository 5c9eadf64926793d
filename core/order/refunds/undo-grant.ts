// Computes the terms of a license after a refund takes back the time or the seats of an order, and after a
// later payment restores them. Pure: reads and writes nothing.
import { endsTooLate } from '../../license/admin/change/check-expiry.ts';
import type { ChangeableTerms, LockedLicense } from '../../license/admin/change/locked-license.ts';
import { MAX_SEATS, UNLIMITED } from '../../license/terms.ts';

/** What an order added to a license. */
export type OrderGrant = {
  readonly expiresBefore: Date | null;
  readonly expiresAfter: Date | null;
  readonly seatsAdded: number;
  readonly grantedAt: Date;
};

/** What a refund took from a license. */
export type Taken = { readonly seatsTaken: number; readonly timeTakenMs: number };

/** The terms without what the order added, or why they stay unchanged, as a clause. */
export type UndoResult = (Taken & { readonly terms: ChangeableTerms }) | { readonly kept: string };

/** @param others the grants of other orders that no refund took back, in any order */
export function undoGrant(
  { terms }: Pick<LockedLicense, 'terms'>,
  grant: OrderGrant,
  others: readonly OrderGrant[],
): UndoResult {
  return grant.seatsAdded > 0 ? takeSeats(terms, grant, others) : takeTime(terms, grant, others);
}

/** A license keeps the seats that other orders added, and at least one more. */
function takeSeats(
  terms: ChangeableTerms,
  { seatsAdded }: OrderGrant,
  others: readonly OrderGrant[],
): UndoResult {
  const { seatLimit } = terms;
  if (seatLimit === UNLIMITED) return { kept: 'has unlimited seats' };
  const least = others.reduce((sum, other) => sum + other.seatsAdded, 1);
  const lowered = Math.min(seatLimit, Math.max(seatLimit - seatsAdded, least));
  return { terms: { ...terms, seatLimit: lowered }, seatsTaken: seatLimit - lowered, timeTakenMs: 0 };
}

/**
 * Subtracts the order's period from the expiry, which later renewals may have moved. If the license would
 * have expired without this order, a later renewal began when it was bought: it keeps its whole period from
 * then.
 */
function takeTime(terms: ChangeableTerms, grant: OrderGrant, others: readonly OrderGrant[]): UndoResult {
  const { expiresAt } = terms;
  if (expiresAt === null) return { kept: 'has no expiry' };
  const now = expiresAt.getTime();
  const earliest = others
    .toSorted((one, other) => one.grantedAt.getTime() - other.grantedAt.getTime())
    .reduce((end, other) => {
      const period = periodMs(other);
      return period > 0 ? Math.max(end, other.grantedAt.getTime()) + period : end;
    }, Number.NEGATIVE_INFINITY);
  const shortened = Math.min(now, Math.max(now - periodMs(grant), earliest));
  return {
    terms: { ...terms, expiresAt: new Date(shortened) },
    seatsTaken: 0,
    timeTakenMs: now - shortened,
  };
}

/** A renewal begins at the later of its grant and the old expiry. */
function periodMs({ expiresBefore, expiresAfter, grantedAt }: OrderGrant): number {
  if (expiresAfter === null) return 0;
  const begin = Math.max(expiresBefore?.getTime() ?? 0, grantedAt.getTime());
  return Math.max(0, expiresAfter.getTime() - begin);
}

/** The terms with what the refund took, or why it cannot be restored, as a sentence. */
export type RestoreResult = { readonly terms: ChangeableTerms } | { readonly blocked: string };

/** Adds the time to the later of now and the expiry. */
export function restoreTerms(
  { terms, state }: Pick<LockedLicense, 'terms' | 'state'>,
  { seatsTaken, timeTakenMs }: Taken,
  now: Date,
): RestoreResult {
  if (state.revoked) return { blocked: 'this license has been revoked: reinstate it before you retry' };
  const seatLimit = terms.seatLimit === UNLIMITED ? UNLIMITED : terms.seatLimit + seatsTaken;
  if (seatLimit > MAX_SEATS) return { blocked: `a license has at most ${MAX_SEATS} seats` };
  if (terms.expiresAt === null || timeTakenMs === 0) return { terms: { ...terms, seatLimit } };
  const expiresAt = new Date(Math.max(terms.expiresAt.getTime(), now.getTime()) + timeTakenMs);
  if (endsTooLate(expiresAt, terms.graceDays))
    return { blocked: 'the license and its grace would end after the year 9999' };
  return { terms: { ...terms, seatLimit, expiresAt } };
}
