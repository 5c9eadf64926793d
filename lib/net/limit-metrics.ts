// Metrics of the limits: refusals by each rate limit, and fallbacks from Redis to memory.
import type { Counter } from 'prom-client';
import type { Metrics } from '../metrics/metrics.ts';

/** `calls` are the open calls and streams of the RPC port. */
const LIMITS = ['requests', 'guesses', 'purchases', 'tokens', 'connections', 'calls'] as const;
export type Limit = (typeof LIMITS)[number];

export function createLimitRefusals(metrics: Metrics): (limit: Limit) => Counter.Internal {
  const refusals = metrics.counter({
    name: 'hub_rate_limited_total',
    help: 'Requests, calls and connections refused because a limit was reached.',
    labelNames: ['limit'],
  });
  for (const limit of LIMITS) refusals.labels(limit).inc(0);
  return (limit) => refusals.labels(limit);
}

/** Both ports share the counter. */
export function createFallbackCount(metrics: Metrics): () => void {
  const fallbacks = metrics.counter({
    name: 'hub_redis_fallbacks_total',
    help: 'Requests counted in the memory of the process because Redis did not answer.',
  });
  return () => fallbacks.inc();
}
