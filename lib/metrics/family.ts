// Collected metrics as plain data, which processes can exchange, add up and write out.
import { AggregatorRegistry, type Registry } from 'prom-client';

export type Sample = {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Differs from the family's name for the buckets, the sum and the count of a histogram. */
  readonly metricName?: string;
};

/** A metric with its samples, as `Registry.getMetricsAsJSON` returns it. */
export type Family = {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How the values of several processes combine. */
  readonly aggregator: 'sum' | 'max' | 'min';
  readonly values: readonly Sample[];
};

export async function familiesOf(registry: Registry): Promise<Family[]> {
  // The declared types of prom-client take `type` for a number, and leave out `metricName`.
  return (await registry.getMetricsAsJSON()) as unknown as Family[];
}

/** Combines the families of several processes, each by its aggregator. */
export async function mergeFamilies(parts: readonly (readonly Family[])[]): Promise<Family[]> {
  const families = await familiesOf(AggregatorRegistry.aggregate([...parts]));
  return families.map((family) => ({
    ...family,
    values: family.values.map((sample) => ({ ...sample, value: roundToBillionths(sample.value) })),
  }));
}

/**
 * Adding the same fractions in another order may change the last digit. Prometheus would take a sum that shrinks for
 * a restart.
 */
function roundToBillionths(value: number): number {
  return Number.isInteger(value) ? value : Math.round(value * 1e9) / 1e9;
}
