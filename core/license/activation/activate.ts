// Activation: binds a machine to a license. Concurrent requests share statements.
import type { Pool } from 'pg';
import type { ActivateRequest } from '../../../gen/hub/license/v1/license_service_pb.ts';
import type { Clock } from '../../clock.ts';
import { HubError, overloaded, type SeatUsage } from '../../errors.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { HashTypedKey } from '../keys/hash-typed-key.ts';
import { licenseKeyUnknown } from '../keys/license-key.ts';
import { type SignedLicense, type SigningKeyCache, signLicense } from '../keys/sign-license.ts';
import type { LicenseMetrics } from '../metrics.ts';
import { ineligible } from '../state.ts';
import { hasFreeSeat } from '../terms.ts';
import {
  type Found,
  findOrAllocateSeats,
  type LicenseWithSeat,
  type OnLocked,
  type SeatRequest,
} from './find-or-allocate-seats.ts';
import type { LastSeen } from './last-seen.ts';
import { licenseContent, type Seated } from './license-content.ts';
import { type SeatUpdate, updateSeats } from './update-seats.ts';

export type Activation = { readonly license: SignedLicense; readonly publicKeyPem: string };

export type ActivateOptions = {
  readonly pool: Pool;
  readonly hashTypedKey: HashTypedKey;
  readonly signingKeys: SigningKeyCache;
  readonly lastSeen: LastSeen;
  readonly metrics: LicenseMetrics;
  readonly clock: Clock;
};

/** Attempts to allocate a seat while the license or its seats change at the same time. */
const MAX_ATTEMPTS = 10;

/**
 * Activates one machine. Rejects with HubError `license_key_unknown`, `license_revoked`, `license_suspended`,
 * `license_expired` or `seat_limit_reached`; nothing is written then.
 */
export function createActivate(options: ActivateOptions) {
  const { pool, hashTypedKey, signingKeys, lastSeen, metrics, clock } = options;
  const createFindOrAllocate = (onLocked: OnLocked) =>
    createBatcher<SeatRequest, Found>({
      run: (requests) =>
        findOrAllocateSeats(requests, onLocked, { pool, clock, seatsTaken: metrics.seatsTaken }),
    });
  const findOrAllocate = createFindOrAllocate('skip');
  // In batches of their own, so that a locked license does not delay the others.
  const findOrAllocateLocked = createFindOrAllocate('wait');
  const update = createBatcher<SeatUpdate, boolean>({
    run: (updates) => updateSeats(updates, { pool, clock }),
  });

  /** Returns undefined if no license has this key. */
  const seat = async (request: SeatRequest): Promise<Seated | undefined> => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { license, newSeat, at } = await (attempt === 1 ? findOrAllocate : findOrAllocateLocked)(request);
      if (license === undefined) return undefined;
      const { seatId, seatLimit: limit, used } = license;
      if (newSeat !== undefined) {
        lastSeen.touch(newSeat.seatId, null, at);
        if (!newSeat.isOutdated) return { license, seatId: newSeat.seatId, at };
        continue;
      }
      const refusal = ineligible(license, at);
      if (refusal) throw refusal;
      if (seatId === null) {
        if (!hasFreeSeat({ limit, used })) throw seatLimitReached({ limit, used });
      } else if (!changesSeat(license, request) || (await update({ ...request, seatId }))) {
        lastSeen.touch(seatId, license.lastSeenAtMs, at);
        return { license, seatId, at };
      }
      // The license or its seats changed at the same time.
    }
    throw overloaded();
  };

  let running = 0;
  const activate = async ({ licenseKey, ...machine }: ActivateRequest): Promise<Activation> => {
    for (const keyHash of await hashTypedKey(licenseKey)) {
      const seated = await seat({ keyHash, ...machine });
      if (seated === undefined) continue;
      const { privateKey, publicKeyPem } = await signingKeys.get(seated.license.kid);
      const content = licenseContent(seated, machine.machineFingerprint);
      // A single activation signs on the main thread (23 µs). Concurrent ones sign in the thread pool: 1.1 to
      // 1.2 times the throughput, test/bench/features.md.
      const license = await signLicense(content, privateKey, running > 1 ? 'pool' : 'main');
      metrics.activations.inc();
      return { license, publicKeyPem };
    }
    throw licenseKeyUnknown(licenseKey);
  };
  return async (request: ActivateRequest): Promise<Activation> => {
    running += 1;
    try {
      return await activate(request);
    } finally {
      running -= 1;
    }
  };
}

function changesSeat(seat: LicenseWithSeat, { machineLabel, appVersion }: SeatRequest): boolean {
  return (
    (machineLabel !== '' && machineLabel !== seat.machineLabel) ||
    (appVersion !== '' && appVersion !== seat.appVersion)
  );
}

function seatLimitReached(seats: SeatUsage): HubError {
  const message = 'every seat of this license is taken; release one first';
  return new HubError('seat_limit_reached', message, { seats });
}
