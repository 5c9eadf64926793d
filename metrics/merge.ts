// What several processes have measured, as one.
import type { Family } from './family.ts';
import { AggregatorRegistry } from './prom-client-parts.ts';

/** Each family by its own rule: most are added up. */
export async function merge(parts: readonly (readonly Family[])[]): Promise<Family[]> {
  const merged = AggregatorRegistry.aggregate([...parts]);
  return (await merged.getMetricsAsJSON()) as unknown as Family[]; // as they were given, with other values
}
