// Activation: binds a machine to a license. Concurrent requests share statements.
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { HubError, overloaded, type SeatUsage } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { licenseKeyUnknown } from '../keys/license-key.ts';
import {
  type LicenseContent,
  type SignedLicense,
  type SigningKeyCache,
  signLicense,
} from '../keys/signing.ts';
import type { HashTypedKey } from '../keys/typed-key.ts';
import type { LicenseMetrics } from '../metrics.ts';
import {
  DAY_MS,
  effectiveLimits,
  graceEndsAtMs,
  hasFreeSeat,
  ineligible,
  type LicenseTerms,
  TERMS,
  TERMS_JOINS,
} from '../terms.ts';
import { type Allocation, allocateSeats, type OnLocked, type SeatRequest } from './allocate-seats.ts';
import type { LastSeen } from './last-seen.ts';
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
  readonly hashTypedKey: HashTypedKey;
  readonly signingKeys: SigningKeyCache;
  readonly lastSeen: LastSeen;
  readonly metrics: LicenseMetrics;
  readonly clock: Clock;
};

const BATCHES = { maxSize: 128, maxInFlight: 2 };
/** Attempts to allocate a seat while the license or its seats change at the same time. */
const MAX_ATTEMPTS = 10;

/**
 * Activates one machine. Rejects with HubError `license_key_unknown`, `license_revoked`, `license_suspended`,
 * `license_expired` or `seat_limit_reached`; nothing is written then.
 */
export function createActivate(options: ActivateOptions) {
  const { pool, hashTypedKey, signingKeys, lastSeen, metrics, clock } = options;
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
  const findOrAllocate = async (licenseKey: string, machine: Machine): Promise<Allocation> => {
    const keyHashes = await hashTypedKey(licenseKey);
    if (keyHashes.length === 0) throw licenseKeyUnknown(licenseKey);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { license, at } = await lookup({ keyHashes, machineFingerprint: machine.machineFingerprint });
      if (license === undefined) throw licenseKeyUnknown(licenseKey);
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
        lastSeen.touch(seatId, lastSeenAtMs ?? 0, at);
        return { license, seatId, at };
      }
      // The license or its seats have changed since the lookup: look again.
    }
    throw overloaded();
  };

  return async ({ licenseKey, ...machine }: ActivateRequest): Promise<Activation> => {
    const allocation = await findOrAllocate(licenseKey, machine);
    const { privateKey, publicKeyPem } = await signingKeys.get(allocation.license.kid);
    const license = await signLicense(contentOf(allocation, machine.machineFingerprint), privateKey);
    metrics.activations.inc();
    return { license, publicKeyPem };
  };
}

type Machine = Omit<ActivateRequest, 'licenseKey'>;

type Lookup = { readonly license: LicenseWithSeat | undefined; readonly at: Date };

type LicenseLookup = { readonly keyHashes: readonly Buffer[]; readonly machineFingerprint: string };

/** A license and the active seat of one machine. The four members of the seat are null if there is none. */
type LicenseWithSeat = LicenseTerms & {
  /** -1 means unlimited. */
  readonly seatLimit: number;
  /** Number of active seats. */
  readonly used: number;
  readonly revoked: boolean;
  readonly suspended: boolean;
  readonly seatId: string | null;
  readonly machineLabel: string | null;
  readonly appVersion: string | null;
  readonly lastSeenAtMs: number | null;
};

/** Returns one element per lookup, in order; undefined if no license has the key. */
async function lookupLicenses(
  pool: Pool,
  lookups: readonly LicenseLookup[],
): Promise<(LicenseWithSeat | undefined)[]> {
  // A typed key has several hashes if it can be an imported one. The license of the first one found counts.
  const candidates = lookups.flatMap(({ keyHashes, machineFingerprint }, index) =>
    keyHashes.map((keyHash) => ({ keyHash, machineFingerprint, index })),
  );
  const { rows } = await pool.query<LicenseWithSeat & { position: string }>({
    name: 'lookup_licenses',
    // license_key_hash_key, app_pkey, signing_key_active_key, limit_profile_pkey; seat_active_key
    text: `select t.position, ${TERMS}, l.seat_limit as "seatLimit", l.seats_used as used,
                  l.revoked_at is not null as revoked, l.suspended_at is not null as suspended,
                  s.id as "seatId", s.machine_label as "machineLabel", s.app_version as "appVersion",
                  (extract(epoch from s.last_seen_at) * 1000)::float8 as "lastSeenAtMs"
           from unnest($1::bytea[], $2::text[]) with ordinality as t (key_hash, machine_fingerprint, position)
           join license l on l.key_hash = t.key_hash ${TERMS_JOINS}
           left join lateral (
             -- The limit forces an index scan by license and machine; see check-status.ts.
             select * from seat where license_id = l.id and machine_fingerprint = t.machine_fingerprint
                                  and released_at is null limit 1
           ) s on true`,
    values: [
      candidates.map(({ keyHash }) => keyHash),
      candidates.map(({ machineFingerprint }) => machineFingerprint),
    ],
  });
  const rowAt = new Map(rows.map((row) => [Number(row.position), row]));
  const found: (LicenseWithSeat | undefined)[] = lookups.map(() => undefined);
  candidates.forEach(({ index }, place) => {
    found[index] ??= rowAt.get(place + 1);
  });
  return found;
}

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
  const { customer, features, signedMetadata, termsVersion, expiresAtMs, leaseDays } = license;
  const graceEndsMs = graceEndsAtMs(license);
  const limits = effectiveLimits(license.profileLimits ?? undefined, license.limits ?? undefined);
  return {
    licenseId: formatId('lic', license.licenseId),
    app: license.app,
    seatId: formatId('seat', seatId),
    machineFingerprint,
    ...(customer !== null && { customer }),
    ...(limits && { limits }),
    ...(features.length > 0 && { features: [...features] }),
    ...(signedMetadata !== null && { metadata: signedMetadata }),
    termsVersion,
    issuedAt: at.toISOString(),
    ...(expiresAtMs !== null && { expiresAt: new Date(expiresAtMs).toISOString() }),
    ...(graceEndsMs !== null && { graceEndsAt: new Date(graceEndsMs).toISOString() }),
    ...(leaseDays !== null && { leaseExpiresAt: new Date(at.getTime() + leaseDays * DAY_MS).toISOString() }),
    kid: license.kid,
  };
}
