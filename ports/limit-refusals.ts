// How often somebody was refused for what he had used up.
import type { Count } from '../metrics/counter.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** What there is only so much of: requests a minute, wrong guesses, wrong tokens, connections. */
const LIMITS = ['requests', 'guesses', 'tokens', 'connections'] as const;
export type Limit = (typeof LIMITS)[number];

export function createLimitRefusals(metrics: Metrics): (limit: Limit) => Count {
  const refusals = metrics.counter({
    name: 'hub_rate_limited_total',
    help: 'Requests and connections refused because their client has used up a limit.',
    labels: ['limit'],
  });
  for (const limit of LIMITS) refusals.of(limit);
  return (limit) => refusals.of(limit);
}
