// What several processes have measured, as one.
import type { Family } from './family.ts';
import { AggregatorRegistry } from './prom-client-parts.ts';

/** Each family by its own rule: most are added up. */
export async function merge(parts: readonly (readonly Family[])[]): Promise<Family[]> {
  const merged = AggregatorRegistry.aggregate([...parts]);
  const families = (await merged.getMetricsAsJSON()) as unknown as Family[]; // as they were given, with other values
  return families.map((family) => ({
    ...family,
    values: family.values.map((each) => ({ ...each, value: inBillionths(each.value) })),
  }));
}

/** Added up in another order a sum may be smaller by its last digit, which Prometheus would take for a restart. */
function inBillionths(value: number): number {
  return Number.isInteger(value) ? value : Math.round(value * 1e9) / 1e9;
}
