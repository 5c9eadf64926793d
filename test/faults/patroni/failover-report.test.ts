// Checks the judgment of a failover.
import { expect } from 'chai';
import type { LicenseAnswer } from '../load/license-load.ts';
import type { Probe } from '../load/probes.ts';
import { type Failover, reportFailover, spread } from './failover-report.ts';

/** The primary fails after a second, and a new leader follows nine seconds later. */
const FAILOVER: Failover = { begunAt: 1_000, struckAt: 1_100, electedAt: 10_000 };
const ONE = 'http://127.0.0.1:1';
const OTHER = 'http://127.0.0.1:2';

function answer(gateway: string, status: number, endedAt: number): LicenseAnswer {
  return { gateway, call: 'activate', status, retryAfter: '1', begunAt: endedAt - 10, durationMs: 10 };
}

function probe(status: number, begunAt: number, problem: Partial<Probe> = {}): Probe {
  const named =
    status === 503 ? { code: 'unavailable', retryAfter: '5' } : { code: undefined, retryAfter: undefined };
  return { gateway: ONE, path: '/readyz', status, begunAt, durationMs: 10, ...named, ...problem };
}

const WRITES_BACK = [answer(ONE, 200, 10_500), answer(OTHER, 200, 11_200)];

describe('the report of a failover', () => {
  it('measures from the election, at the slower hub', () => {
    const answers = [
      answer(ONE, 200, 900),
      answer(OTHER, 503, 9_000),
      ...WRITES_BACK,
      answer(OTHER, 503, 10_900),
      answer(ONE, 200, 12_000),
    ];
    const probes = [
      probe(200, 900),
      probe(200, 1_200),
      probe(503, 2_000),
      probe(503, 9_000),
      probe(503, 10_100),
    ];
    expect(reportFailover(FAILOVER, answers, probes)).to.deep.equal({
      patroniMs: 9_000,
      writesMs: 1_200,
      refusedMs: 900,
      probes: 3,
      notReady: 2,
      violations: [],
    });
  });

  it('reports a hub that writes too late or never', () => {
    const late = [answer(ONE, 200, 10_500), answer(OTHER, 200, 12_100)];
    expect(reportFailover(FAILOVER, late, []).violations).to.deep.equal([
      `${OTHER} wrote 2100 ms after the election`,
    ]);
    const never = [answer(ONE, 200, 10_500), answer(OTHER, 503, 12_100)];
    expect(reportFailover(FAILOVER, never, []).violations).to.deep.equal([`${OTHER} did not write`]);
    expect(reportFailover(FAILOVER, [], []).violations).to.deep.equal(['no hub was asked to write']);
  });

  it('does not count the response to a read as a write', () => {
    const reads = WRITES_BACK.map((each): LicenseAnswer => ({ ...each, call: 'status' }));
    expect(reportFailover(FAILOVER, reads, []).violations).to.deep.equal(['no hub was asked to write']);
  });

  it('reports a hub that claims to be ready without a primary', () => {
    const { violations } = reportFailover(FAILOVER, WRITES_BACK, [probe(200, 3_700)]);
    expect(violations).to.deep.equal([
      `/readyz of ${ONE} was answered 200 without a code, Retry-After: none`,
    ]);
  });

  it('reports an error without a reason, and one without Retry-After', () => {
    const bare = [probe(503, 5_000, { code: undefined }), probe(503, 6_000, { retryAfter: undefined })];
    expect(reportFailover(FAILOVER, WRITES_BACK, bare).violations).to.deep.equal([
      `/readyz of ${ONE} was answered 503 without a code, Retry-After: 5`,
      `/readyz of ${ONE} was answered 503 unavailable, Retry-After: none`,
    ]);
  });

  it('gives the median and the range of several', () => {
    expect(spread([3_000, 1_000, 2_000])).to.equal('2.00 s (1.00 to 3.00)');
    expect(spread([1_500])).to.equal('1.50 s (1.50 to 1.50)');
  });
});
