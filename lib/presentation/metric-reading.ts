// A reading of the hub's metrics, and the rates and quantiles between two readings, computed as in Prometheus.
import type { MetricFamily, MetricSample } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';

type Labels = Readonly<Record<string, string>>;

export type Reading = {
  /** When it was taken: milliseconds of a monotonic clock. */
  readonly at: number;
  readonly samples: readonly MetricSample[];
  /** Sum of the samples with these labels; undefined if there are none. */
  value(name: string, labels?: Labels): number | undefined;
  /** Largest or smallest of these samples; undefined if there are none. */
  extreme(which: 'max' | 'min', name: string, labels?: Labels): number | undefined;
  valuesOf(name: string, label: string): string[];
};

export function createReading(families: readonly MetricFamily[], at: number): Reading {
  const samples = families.flatMap((family) => family.samples);
  const found = (name: string, labels: Labels = {}): number[] =>
    samples.filter((sample) => matches(sample, name, labels)).map(({ value }) => value);
  return {
    at,
    samples,
    value(name, labels) {
      const values = found(name, labels);
      return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
    },
    extreme(which, name, labels) {
      const values = found(name, labels);
      return values.length === 0 ? undefined : Math[which](...values);
    },
    valuesOf: (name, label) => [
      ...new Set(samples.filter((sample) => sample.name === name).map(({ labels }) => labels[label] ?? '')),
    ],
  };
}

export type Interval = {
  readonly seconds: number;
  /** Growth of a counter per second. */
  rate(name: string, labels?: Labels, only?: (labels: Labels) => boolean): number;
  /** Quantile (`share` from 0 to 1) in the unit of the histogram; undefined without observations. */
  quantile(share: number, name: string, labels?: Labels): number | undefined;
};

export function createInterval(before: Reading, after: Reading): Interval {
  const seconds = (after.at - before.at) / 1000;
  const earlier = new Map(before.samples.map((sample) => [keyOf(sample), sample.value]));
  // A counter that decreased was reset by a restart.
  const growthOf = (sample: MetricSample): number => {
    const was = earlier.get(keyOf(sample)) ?? 0;
    return sample.value < was ? sample.value : sample.value - was;
  };
  return {
    seconds,
    rate: (name, labels = {}, only = () => true) =>
      after.samples
        .filter((sample) => matches(sample, name, labels) && only(sample.labels))
        .reduce((sum, sample) => sum + growthOf(sample), 0) / seconds,
    quantile(share, name, labels = {}) {
      const counts = new Map<number, number>(); // cumulative count by upper bound
      for (const sample of after.samples) {
        if (!matches(sample, `${name}_bucket`, labels)) continue;
        const bound = sample.labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(sample.labels['le']);
        counts.set(bound, (counts.get(bound) ?? 0) + growthOf(sample));
      }
      return interpolate(
        [...counts].sort(([a], [b]) => a - b),
        share,
      );
    },
  };
}

/** Interpolates linearly within the bucket; never above the last finite bound. */
function interpolate(buckets: readonly (readonly [bound: number, count: number])[], share: number) {
  const wanted = share * (buckets.at(-1)?.[1] ?? 0);
  if (wanted === 0) return undefined;
  let [from, below] = [0, 0];
  for (const [bound, count] of buckets) {
    if (count >= wanted && bound !== Number.POSITIVE_INFINITY)
      return from + ((bound - from) * (wanted - below)) / (count - below);
    if (bound !== Number.POSITIVE_INFINITY) [from, below] = [bound, count];
  }
  return from;
}

function matches(sample: MetricSample, name: string, labels: Labels): boolean {
  return (
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  );
}

function keyOf({ name, labels }: MetricSample): string {
  return JSON.stringify([name, Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
