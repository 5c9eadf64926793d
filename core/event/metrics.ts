// The metrics of events and their deliveries.
import type { Metrics } from '../../lib/metrics/metrics.ts';

export type EventMetrics = ReturnType<typeof createEventMetrics>;

export function createEventMetrics(metrics: Metrics) {
  const numbered = metrics.counter({
    name: 'hub_events_total',
    help: 'Events that were recorded, once they are committed.',
  });
  const attempts = metrics.counter({
    name: 'hub_event_delivery_attempts_total',
    help: 'Attempts to deliver an event to an endpoint, by result.',
    labelNames: ['result'],
  });
  const durations = metrics.histogram({
    name: 'hub_event_delivery_duration_seconds',
    help: 'Duration of attempts to deliver an event.',
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 15],
  });
  for (const result of ['delivered', 'failed']) attempts.labels(result).inc(0);
  return {
    numbered: (events: number): void => numbered.inc(events),
    attempted(result: 'delivered' | 'failed', seconds: number): void {
      attempts.labels(result).inc();
      durations.observe(seconds);
    },
  };
}
