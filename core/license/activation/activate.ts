// Activation: binds a machine to a license. Concurrent requests share statements.
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { HubError, overloaded, type SeatUsage } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { effectiveLimits, hasFreeSeat } from '../admin/limits.ts';
import { hashKey, licenseKeyUnknown } from '../keys/license-key.ts';
import { type LicenseContent, type SignedLicense, signLicense } from '../keys/signed-license.ts';
import type { SigningKeyCache } from '../keys/signing-key-cache.ts';
import type { LicenseMetrics } from '../metrics.ts';
import { type Allocation, allocateSeats, type OnLocked, type SeatRequest } from './allocate-seats.ts';
import { ineligible } from './eligibility.ts';
import type { LastSeen } from './last-seen.ts';
import { type LicenseLookup, type LicenseWithSeat, lookupLicenses } from './lookup.ts';
import { type SeatUpdate, updateSeats } from './update-seats.ts';

export type ActivateRequest = {
  readonly licenseKey: string;
  readonly machineFingerprint: string;
  readonly machineLabel: string;
  readonly appVersion: string;
};

export type Activation = { readonly license: SignedLicense; readonly publicKeyPem: string };

export type ActivateOptions = {
  readonly pool: Pool;
  readonly signingKeys: SigningKeyCache;
  readonly lastSeen: LastSeen;
  readonly metrics: LicenseMetrics;
  readonly clock: Clock;
};

const BATCHES = { maxSize: 128, maxInFlight: 2 };
/** Attempts to allocate a seat while the license or its seats change at the same time. */
const MAX_ATTEMPTS = 10;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Activates one machine. Rejects with HubError `license_key_unknown`, `license_revoked`, `license_expired`
 * or `seat_limit_reached`; nothing is written then.
 */
export function createActivate({ pool, signingKeys, lastSeen, metrics, clock }: ActivateOptions) {
  const lookup = createBatcher<LicenseLookup, Lookup>({
    ...BATCHES,
    run: async (lookups) => {
      const at = clock();
      return (await lookupLicenses(pool, lookups)).map((license) => ({ license, at }));
    },
  });
  const createAllocate = (onLocked: OnLocked) =>
    createBatcher<SeatRequest, Allocation | undefined>({
      ...BATCHES,
      run: (requests) => allocateSeats(requests, onLocked, { pool, clock, seatsTaken: metrics.seatsTaken }),
    });
  const allocate = createAllocate('skip');
  // In batches of their own, so that a locked license does not delay the others.
  const allocateLocked = createAllocate('wait');
  const update = createBatcher<SeatUpdate, boolean>({
    ...BATCHES,
    run: (updates) => updateSeats(updates, { pool, clock }),
  });

  /** Looks up the license, and writes if the machine needs a seat or reports a change. */
  const findOrAllocate = async (keyHash: Buffer, machine: Machine): Promise<Allocation> => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { license, at } = await lookup({ keyHash, machineFingerprint: machine.machineFingerprint });
      if (license === undefined) throw licenseKeyUnknown();
      const refusal = ineligible(license, at);
      if (refusal) throw refusal;
      const { licenseId, seatId, seatLimit: limit, used, lastSeenAtMs } = license;
      if (seatId === null) {
        if (!hasFreeSeat({ limit, used })) throw seatLimitReached({ limit, used });
        const allocation = await (attempt === 1 ? allocate : allocateLocked)({ ...machine, licenseId });
        if (allocation !== undefined) return allocation;
      } else if (!changesSeat(license, machine)) {
        lastSeen.touch(seatId, lastSeenAtMs ?? 0, at);
        return { license, seatId, at };
      } else if (await update({ ...machine, seatId })) {
        return { license, seatId, at };
      }
      // The license or its seats have changed since the lookup: look again.
    }
    throw overloaded();
  };

  return async ({ licenseKey, ...machine }: ActivateRequest): Promise<Activation> => {
    const allocation = await findOrAllocate(hashKey(licenseKey), machine);
    const { privateKey, publicKeyPem } = await signingKeys.get(allocation.license.kid);
    const license = await signLicense(contentOf(allocation, machine.machineFingerprint), privateKey);
    metrics.activations.inc();
    return { license, publicKeyPem };
  };
}

type Machine = Omit<ActivateRequest, 'licenseKey'>;

type Lookup = { readonly license: LicenseWithSeat | undefined; readonly at: Date };

function changesSeat(seat: LicenseWithSeat, { machineLabel, appVersion }: Machine): boolean {
  return (
    (machineLabel !== '' && machineLabel !== seat.machineLabel) ||
    (appVersion !== '' && appVersion !== seat.appVersion)
  );
}

function seatLimitReached(seats: SeatUsage): HubError {
  const message = 'every seat of this license is taken; release one first';
  return new HubError('seat_limit_reached', message, { seats });
}

function contentOf({ license, seatId, at }: Allocation, machineFingerprint: string): LicenseContent {
  const { customer, expiresAtMs, leaseDays } = license;
  const limits = effectiveLimits(license.profileLimits ?? undefined, license.limits ?? undefined);
  return {
    licenseId: formatId('lic', license.licenseId),
    app: license.app,
    seatId: formatId('seat', seatId),
    machineFingerprint,
    ...(customer !== null && { customer }),
    ...(limits && { limits }),
    issuedAt: at.toISOString(),
    ...(expiresAtMs !== null && { expiresAt: new Date(expiresAtMs).toISOString() }),
    ...(leaseDays !== null && { leaseExpiresAt: new Date(at.getTime() + leaseDays * DAY_MS).toISOString() }),
    kid: license.kid,
  };
}
