// Counters of activations and of seats taken and released.
import type { Metrics } from '../../lib/metrics/metrics.ts';

export type LicenseMetrics = ReturnType<typeof createLicenseMetrics>;

export function createLicenseMetrics(metrics: Metrics) {
  const released = metrics.counter({
    name: 'hub_seats_released_total',
    help: 'Seats released by the machine or by an operator.',
    labelNames: ['by'],
  });
  const seatsReleased = { byMachine: released.labels('machine'), byOperator: released.labels('operator') };
  // Exposed at 0: Prometheus does not see the step from an absent counter to 1.
  for (const counter of Object.values(seatsReleased)) counter.inc(0);
  return {
    activations: metrics.counter({
      name: 'hub_activations_total',
      help: 'Activations granted, including those of machines that already have a seat.',
    }),
    seatsTaken: metrics.counter({
      name: 'hub_seats_taken_total',
      help: 'Seats given to machines that have none.',
    }),
    seatsReleased,
  };
}
