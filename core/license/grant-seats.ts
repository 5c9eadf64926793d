// Decides who gets a seat. Pure: it is given what the database holds and says what to write.
import { HubError, type SeatUsage } from '../errors.ts';
import { newUuid } from '../ids.ts';
import { hasFreeSeat } from './limits.ts';

export type SeatRequest = {
  readonly licenseId: string;
  readonly machineFingerprint: string;
  readonly machineLabel: string;
  readonly appVersion: string;
  /** Seats the license allows; -1 means unlimited. */
  readonly seatLimit: number;
  /** The machine's active seat, if it has one. */
  readonly seatId: string | null;
  /** Active seats of the license. */
  readonly used: number;
};

export type Grant = {
  readonly seatId: string;
  readonly licenseId: string;
  readonly machineFingerprint: string;
  /** Empty leaves what a known seat has. */
  readonly machineLabel: string;
  readonly appVersion: string;
  readonly isNew: boolean;
};

export type SeatDecisions = {
  /** One for each request, in order. */
  readonly outcomes: readonly (Grant | HubError)[];
  /** One for each seat to write: of requests for the same machine, the last. */
  readonly grants: readonly Grant[];
};

/**
 * Grants seats in the order of the requests; those granted earlier in the batch count. A machine that has a seat
 * keeps it. Exact as long as the rows of all licenses concerned are locked.
 */
export function grantSeats(requests: readonly SeatRequest[]): SeatDecisions {
  const granted = new Map<string, Grant>();
  const usedNow = new Map<string, number>();
  const outcomes = requests.map((request) => {
    const { licenseId, machineFingerprint, machineLabel, appVersion, seatLimit } = request;
    const machine = `${licenseId}/${machineFingerprint}`;
    const earlier = granted.get(machine);
    const known = earlier?.seatId ?? request.seatId;
    if (known === null) {
      const used = usedNow.get(licenseId) ?? request.used;
      if (!hasFreeSeat({ limit: seatLimit, used })) {
        return seatLimitReached({ limit: seatLimit, used });
      }
      usedNow.set(licenseId, used + 1);
    }
    const grant: Grant = {
      seatId: known ?? newUuid(),
      licenseId,
      machineFingerprint,
      machineLabel: machineLabel || (earlier?.machineLabel ?? ''),
      appVersion: appVersion || (earlier?.appVersion ?? ''),
      isNew: earlier?.isNew ?? known === null,
    };
    granted.set(machine, grant);
    return grant;
  });
  return { outcomes, grants: [...granted.values()] };
}

export function seatLimitReached(seats: SeatUsage): HubError {
  return new HubError('seat_limit_reached', 'every seat of this license is taken; release one first', {
    seats,
  });
}
