// How often somebody was refused for what he had used up.
import type { Count } from '../metrics/counter.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** Requests a minute, wrong guesses, wrong tokens, open connections, calls and streams that are open on the RPC port. */
const LIMITS = ['requests', 'guesses', 'tokens', 'connections', 'calls'] as const;
export type Limit = (typeof LIMITS)[number];

export function createLimitRefusals(metrics: Metrics): (limit: Limit) => Count {
  const refusals = metrics.counter({
    name: 'hub_rate_limited_total',
    help: 'Requests, calls and connections refused because a limit is used up.',
    labels: ['limit'],
  });
  for (const limit of LIMITS) refusals.of(limit);
  return (limit) => refusals.of(limit);
}
