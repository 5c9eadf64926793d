import { expect } from 'chai';
import { nextCheck } from '../../../../core/payment/verification/sweep-schedule.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SCHEDULE = { afterMs: [2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS], untilMs: 24 * HOUR_MS };
const CREATED = new Date('2026-05-01T12:00:00.000Z');

describe('the schedule of the sweep', () => {
  /** The age at which a session is asked about next, in minutes. */
  const nextAt = (ageMinutes: number): number | undefined => {
    const next = nextCheck(SCHEDULE, CREATED, new Date(CREATED.getTime() + ageMinutes * MINUTE_MS));
    return next && (next.getTime() - CREATED.getTime()) / MINUTE_MS;
  };

  it('verifies at the given times, then at the last interval, for a day', () => {
    const ages: number[] = [];
    for (let age: number | undefined = 0; age !== undefined; age = nextAt(age)) ages.push(age);
    const hours = Array.from({ length: 24 }, (_, index) => (index + 1) * 60);
    expect(ages).to.deep.equal([0, 2, 10, ...hours]);
  });

  it('does not drift after extra checks: only the age counts', () => {
    expect([0.5, 1.99, 2, 3, 9.99, 59, 61, 90, 1_439].map(nextAt)).to.deep.equal([
      2, 2, 10, 10, 10, 60, 120, 120, 1_440,
    ]);
  });

  it('ends after a day', () => {
    expect([1_440, 1_441, 100_000].map(nextAt)).to.deep.equal([undefined, undefined, undefined]);
  });

  it('can consist of one time longer than a day', () => {
    const schedule = { afterMs: [25 * HOUR_MS], untilMs: 24 * HOUR_MS };
    expect(nextCheck(schedule, CREATED, CREATED)).to.equal(undefined);
  });
});
