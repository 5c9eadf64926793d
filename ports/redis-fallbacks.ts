// How often something was counted in memory because Redis did not answer.
import type { Metrics } from '../metrics/metrics.ts';

/** Both ports count through Redis: this is the one counter of the process. */
export function createFallbackCount(metrics: Metrics): () => void {
  const fallbacks = metrics.counter({
    name: 'hub_redis_fallbacks_total',
    help: 'Counts that were made in the memory of the process because Redis did not answer.',
    labels: [],
  });
  const count = fallbacks.of();
  return () => count.add();
}
