// Counts what becomes of seats.
import type { Count } from '../../metrics/counter.ts';
import type { Metrics } from '../../metrics/metrics.ts';

export type LicenseMeter = {
  /** Activations that were granted, of machines that had their seat before too. */
  readonly activations: Count;
  /** Seats given to machines that had none. */
  readonly seatsTaken: Count;
  readonly seatsReleased: { readonly byMachine: Count; readonly byOperator: Count };
};

export function createLicenseMeter(metrics: Metrics): LicenseMeter {
  const released = metrics.counter({
    name: 'hub_seats_released_total',
    help: 'Seats released, by the machine itself or by an operator.',
    labels: ['by'],
  });
  return {
    activations: metrics
      .counter({
        name: 'hub_activations_total',
        help: 'Activations granted, of machines that had their seat before too.',
        labels: [],
      })
      .of(),
    seatsTaken: metrics
      .counter({
        name: 'hub_seats_taken_total',
        help: 'Seats given to machines that had none.',
        labels: [],
      })
      .of(),
    seatsReleased: { byMachine: released.of('machine'), byOperator: released.of('operator') },
  };
}
