// What came between two readings of the metrics: rates, restarts, latencies.
import { create } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { MetricFamilySchema } from '../../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { createInterval, createReading } from '../../../lib/presentation/metric-reading.ts';

type Sample = readonly [name: string, labels: Record<string, string>, value: number];

function reading(at: number, ...samples: readonly Sample[]) {
  const family = create(MetricFamilySchema, {
    samples: samples.map(([name, labels, value]) => ({ name, labels, value })),
  });
  return createReading([family], at);
}

/** Of a histogram whose buckets end at 1, 2 and 4. */
const latency = (...counts: readonly number[]): Sample[] =>
  counts.map((count, index) => ['took_bucket', { le: ['1', '2', '4', '+Inf'][index] ?? '' }, count]);

describe('a reading of the metrics', () => {
  const now = reading(0, ['seats', { state: 'active' }, 3], ['seats', { state: 'released' }, 4]);

  it('sums samples by labels, and reports missing ones', () => {
    expect(now.value('seats')).to.equal(7);
    expect(now.value('seats', { state: 'active' })).to.equal(3);
    expect(now.value('seats', { state: 'lost' })).to.equal(undefined);
    expect(now.extreme('max', 'seats')).to.equal(4);
    expect(now.valuesOf('seats', 'state')).to.deep.equal(['active', 'released']);
  });
});

describe('the difference of two readings', () => {
  it('is the growth of counters per second, including new ones', () => {
    const { rate, seconds } = createInterval(
      reading(1_000, ['asked', { route: '/a', status: '200' }, 10]),
      reading(
        5_000,
        ['asked', { status: '200', route: '/a' }, 18],
        ['asked', { route: '/a', status: '503' }, 4],
        ['asked', { route: '/b', status: '200' }, 40],
      ),
    );
    expect(seconds).to.equal(4);
    expect(rate('asked')).to.equal(13);
    expect(rate('asked', { route: '/a' })).to.equal(3);
    expect(rate('asked', { route: '/a' }, ({ status }) => status === '503')).to.equal(1);
    expect(rate('never')).to.equal(0);
  });

  it('is the value of a counter that was reset', () => {
    const { rate } = createInterval(reading(0, ['asked', {}, 1_000]), reading(1_000, ['asked', {}, 5]));
    expect(rate('asked')).to.equal(5);
  });

  it('has quantiles of the new values only', () => {
    const { quantile } = createInterval(
      reading(0, ...latency(100, 100, 100, 100)),
      reading(1_000, ...latency(100, 110, 120, 120)),
    );
    expect(quantile(0.5, 'took')).to.equal(2);
    expect(quantile(0.25, 'took')).to.equal(1.5);
    expect(quantile(1, 'took')).to.equal(4);
    expect(quantile(0.5, 'other')).to.equal(undefined);
  });

  it('has the last bound as the quantile of larger values', () => {
    const { quantile } = createInterval(reading(0), reading(1_000, ...latency(0, 0, 0, 9)));
    expect(quantile(0.99, 'took')).to.equal(4);
  });
});
