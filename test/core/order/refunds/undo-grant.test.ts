// A refund takes from a license exactly what its order gave, whatever other orders did before and since.
import { expect } from 'chai';
import fc from 'fast-check';
import type { ChangeableTerms } from '../../../../core/license/admin/change/locked-license.ts';
import { type OrderGrant, restoreTerms, undoGrant } from '../../../../core/order/refunds/undo-grant.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const day = (days: number): Date => new Date(START_MS + days * DAY_MS);

const terms = (expiresAt: Date | null, seatLimit = 1): ChangeableTerms => ({
  customerId: null,
  seatLimit,
  limitProfile: null,
  limits: null,
  features: [],
  expiresAt,
  beginsLater: false,
  graceDays: 0,
  leaseDays: null,
  metadata: {},
  signedMetadata: [],
});

type Renewal = { readonly on: number; readonly days: number };

/** Renews a license in the order of the days, and returns its expiry as a day, with what each renewal gave. */
function renew(
  firstExpiry: number,
  renewals: readonly Renewal[],
): { expiry: number; given: readonly OrderGrant[] } {
  let expiry = firstExpiry;
  const given = renewals.map(({ on, days }) => {
    const before = expiry;
    expiry = Math.max(expiry, on) + days;
    return { expiresBefore: day(before), expiresAfter: day(expiry), seatsAdded: 0, grantedAt: day(on) };
  });
  return { expiry, given };
}

function undo(expiry: number, given: OrderGrant, others: readonly OrderGrant[]): number {
  const result = undoGrant({ terms: terms(day(expiry)) }, given, others);
  if ('kept' in result) throw new Error(result.kept);
  const after = result.terms.expiresAt?.getTime() ?? 0;
  expect(result.timeTakenMs).to.equal(day(expiry).getTime() - after);
  return (after - START_MS) / DAY_MS;
}

describe('what a refund takes from a license', () => {
  it('is the period of the order, also after later renewals', () => {
    const { expiry, given } = renew(10, [
      { on: 1, days: 30 },
      { on: 20, days: 30 },
    ]);
    expect(expiry).to.equal(70);
    const [first, second] = given;
    if (first === undefined || second === undefined) throw new Error('two renewals');
    expect(undo(70, first, [second]), 'the second one began on day 20').to.equal(50);
    expect(undo(50, second, [])).to.equal(20);
  });

  it('leaves the expiry that the license would have without the order', () => {
    const renewals = fc
      .array(fc.record({ on: fc.integer({ min: 0, max: 300 }), days: fc.integer({ min: 1, max: 60 }) }), {
        minLength: 1,
        maxLength: 6,
      })
      .map((list) => list.toSorted((one, other) => one.on - other.on));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), renewals, fc.nat(), (first, list, pick) => {
        const { expiry, given } = renew(first, list);
        const index = pick % list.length;
        const [taken] = given.slice(index);
        if (taken === undefined) return;
        const others = given.filter((_, at) => at !== index);
        const without = renew(
          first,
          list.filter((_, at) => at !== index),
        ).expiry;
        const after = undo(expiry, taken, others);
        // A license that had expired before the order is left expired at the time of the order, not before.
        const now = list.at(-1)?.on ?? 0;
        expect(Math.max(after, now)).to.equal(Math.max(without, now));
      }),
    );
  });

  it('is given again from the later of now and the expiry', () => {
    const taken = { seatsTaken: 0, timeTakenMs: 30 * DAY_MS };
    const state = { revoked: null, suspended: null };
    const again = (expiry: number) => restoreTerms({ terms: terms(day(expiry)), state }, taken, day(100));
    expect(again(150)).to.deep.include({ terms: terms(day(180)) });
    expect(again(50)).to.deep.include({ terms: terms(day(130)) });
    const revoked = { revoked: { at: day(0), reason: 'chargeback' }, suspended: null };
    expect(restoreTerms({ terms: terms(day(1)), state: revoked }, taken, day(0))).to.have.property('blocked');
  });

  it('is the seats of the order, but neither those of other orders nor the last seat', () => {
    const seats = (seatsAdded: number): OrderGrant => ({
      expiresBefore: null,
      expiresAfter: null,
      seatsAdded,
      grantedAt: day(1),
    });
    const take = (seatLimit: number, others: readonly OrderGrant[] = []) => {
      const result = undoGrant({ terms: terms(null, seatLimit) }, seats(5), others);
      return 'kept' in result ? result.kept : [result.terms.seatLimit, result.seatsTaken];
    };
    expect(take(8)).to.deep.equal([3, 5]);
    expect(take(3), 'an operator had lowered the limit').to.deep.equal([1, 2]);
    expect(take(8, [seats(4)])).to.deep.equal([5, 3]);
    expect(take(-1)).to.equal('has unlimited seats');
  });
});
