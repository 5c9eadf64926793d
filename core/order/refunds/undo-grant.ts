// Decides what a refund takes back from a license that an order renewed or gave seats, and what a later payment gives
// again. Pure: reads and writes nothing.
import type { ChangeableTerms, LockedLicense } from '../../license/admin/change/locked-license.ts';

/** What an order gave a license. */
export type Given = {
  readonly expiresBefore: Date | null;
  readonly expiresAfter: Date | null;
  readonly seatsAdded: number;
  readonly grantedAt: Date;
};

export type Taken = { readonly seatsTaken: number; readonly timeTakenMs: number };

/** The terms without what the order gave, or the reason why they stay, as a clause. */
export type UndoResult = (Taken & { readonly terms: ChangeableTerms }) | { readonly kept: string };

const UNLIMITED = -1;
/** The type of the column. */
const MOST_SEATS = 2 ** 31 - 1;
/** RFC 3339 has four digits for the year. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** @param others what the other orders gave that stand, in any order */
export function undoGrant(
  { terms }: Pick<LockedLicense, 'terms'>,
  given: Given,
  others: readonly Given[],
): UndoResult {
  return given.seatsAdded > 0 ? takeSeats(terms, given, others) : takeTime(terms, given, others);
}

/** A license keeps the seats that other orders added, and one of its own. */
function takeSeats(terms: ChangeableTerms, { seatsAdded }: Given, others: readonly Given[]): UndoResult {
  const { seatLimit } = terms;
  if (seatLimit === UNLIMITED) return { kept: 'has unlimited seats' };
  const least = others.reduce((sum, other) => sum + other.seatsAdded, 1);
  const lowered = Math.min(seatLimit, Math.max(seatLimit - seatsAdded, least));
  return { terms: { ...terms, seatLimit: lowered }, seatsTaken: seatLimit - lowered, timeTakenMs: 0 };
}

/**
 * Takes the order's period from the expiry, which later renewals may have moved. A later renewal of a license that would
 * have expired without this order began when it was bought, so it lasts for its whole period from then.
 */
function takeTime(terms: ChangeableTerms, given: Given, others: readonly Given[]): UndoResult {
  const { expiresAt } = terms;
  if (expiresAt === null) return { kept: 'has no expiry' };
  const now = expiresAt.getTime();
  const earliest = others
    .toSorted((one, other) => one.grantedAt.getTime() - other.grantedAt.getTime())
    .reduce((end, other) => {
      const period = periodMs(other);
      return period > 0 ? Math.max(end, other.grantedAt.getTime()) + period : end;
    }, Number.NEGATIVE_INFINITY);
  const shortened = Math.min(now, Math.max(now - periodMs(given), earliest));
  return {
    terms: { ...terms, expiresAt: new Date(shortened) },
    seatsTaken: 0,
    timeTakenMs: now - shortened,
  };
}

/** A renewal begins at the later of its grant and the old expiry. */
function periodMs({ expiresBefore, expiresAfter, grantedAt }: Given): number {
  if (expiresAfter === null) return 0;
  const begin = Math.max(expiresBefore?.getTime() ?? 0, grantedAt.getTime());
  return Math.max(0, expiresAfter.getTime() - begin);
}

/** The terms with what a refund took, or the reason why it cannot be given again, as a sentence. */
export type GiveResult = { readonly terms: ChangeableTerms } | { readonly blocked: string };

/** Time is given from the later of now and the expiry. */
export function giveAgain(
  { terms, state }: Pick<LockedLicense, 'terms' | 'state'>,
  { seatsTaken, timeTakenMs }: Taken,
  now: Date,
): GiveResult {
  if (state.revoked) return { blocked: 'this license has been revoked: reinstate it before you retry' };
  const seatLimit = terms.seatLimit === UNLIMITED ? UNLIMITED : terms.seatLimit + seatsTaken;
  if (seatLimit > MOST_SEATS) return { blocked: `a license has at most ${MOST_SEATS} seats` };
  if (terms.expiresAt === null || timeTakenMs === 0) return { terms: { ...terms, seatLimit } };
  const end = Math.max(terms.expiresAt.getTime(), now.getTime()) + timeTakenMs;
  if (end > LAST_MS) return { blocked: 'the license would expire after the year 9999' };
  return { terms: { ...terms, seatLimit, expiresAt: new Date(end) } };
}
