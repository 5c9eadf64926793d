import { expect } from 'chai';
import { DISABLE_AFTER_MS, retryDelayMs } from '../../../../core/event/delivery/retry-schedule.ts';

const HOUR_MS = 3_600_000;

describe('the schedule of retries', () => {
  it('has nine retries over more than three days', () => {
    const delays = Array.from({ length: 9 }, (_, index) => retryDelayMs(index + 1, undefined, 0) ?? 0);
    expect(delays.slice(0, 3)).to.deep.equal([5_000, 300_000, 1_800_000]);
    expect(delays).to.deep.equal(delays.toSorted((one, other) => one - other));
    const total = delays.reduce((sum, delay) => sum + delay, 0);
    expect(total).to.equal(5_000 + 300_000 + 1_800_000 + 75 * HOUR_MS);
    // An endpoint with a single event that always fails is disabled by its last attempt.
    expect(total).to.be.above(DISABLE_AFTER_MS);
    expect(retryDelayMs(10, undefined)).to.equal(undefined);
    expect(retryDelayMs(10, HOUR_MS)).to.equal(undefined);
  });

  it('is spread by up to a fifth', () => {
    expect(retryDelayMs(1, undefined, 1)).to.equal(6_000);
    for (let count = 0; count < 100; count++) expect(retryDelayMs(1, undefined)).to.be.within(5_000, 6_000);
  });

  it('waits longer if the endpoint asks for it, up to a day, and never shorter', () => {
    expect(retryDelayMs(1, 60_000, 0)).to.equal(60_000);
    expect(retryDelayMs(2, 1_000, 0)).to.equal(300_000);
    expect(retryDelayMs(1, 48 * HOUR_MS, 0)).to.equal(24 * HOUR_MS);
  });
});
