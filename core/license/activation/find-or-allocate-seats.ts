// Finds the licenses of keys and the seats of machines, and allocates seats to machines that have none,
// without exceeding the seat limits. All requests of a batch share one statement, and so one round trip.
//
// The SQL function allocate_seats compares the seats with the limit. The migration of licenses creates it.
// activate.ts refuses a machine that got none: `seat_limit_reached`.
import type { Pool } from 'pg';
import type { Counter } from 'prom-client';
import type { Clock } from '../../clock.ts';
import { newUuid } from '../../ids.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import { inTransaction, isLockFailure, mayBeCausedByOneItem } from '../../storage/sql/transaction.ts';
import type { LicenseTerms } from '../terms.ts';

export type SeatRequest = {
  readonly keyHash: Buffer;
  readonly machineFingerprint: string;
  readonly machineLabel: string;
  readonly appVersion: string;
};

/** A license and the active seat of one machine. */
export type LicenseWithSeat = LicenseTerms & {
  /** -1 means unlimited. */
  readonly seatLimit: number;
  /** Number of active seats; a new seat does not count yet. */
  readonly used: number;
  readonly revoked: boolean;
  readonly suspended: boolean;
  /** Null, like the next three properties, if the machine had no seat. */
  readonly seatId: string | null;
  readonly machineLabel: string | null;
  readonly appVersion: string | null;
  readonly lastSeenAtMs: number | null;
};

export type Found = {
  /** Undefined if no license has the key. */
  readonly license: LicenseWithSeat | undefined;
  /** The seat that the machine got. */
  readonly newSeat: NewSeat | undefined;
  readonly at: Date;
};

/**
 * `isOutdated`: the terms of the license changed after `license` was read, and before the seat was allocated.
 */
export type NewSeat = { readonly seatId: string; readonly isOutdated: boolean };

/**
 * What to do about a license that another transaction has locked: allocate none of its seats, or wait for up
 * to a second.
 */
export type OnLocked = 'skip' | 'wait';

export type SeatOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly seatsTaken: Counter.Internal;
};

const LOCK_TIMEOUT_MS = 1_000;
/** Batches that are tried at a time after one failed: each may wait for a lock, and holds a connection. */
const RETRY_CONCURRENCY = 2;
/** Retries of a failed batch end after this time, because its callers are waiting. */
const RETRY_MS = 5_000;

/**
 * Returns one result per request, in order. A machine without a seat gets none if the license is revoked,
 * suspended, expired or full, or if the license or its seats change at the same time. If a batch fails, it is
 * tried again in parts: one for each license after a lock failure, else one for each request.
 */
export function findOrAllocateSeats(
  requests: readonly SeatRequest[],
  onLocked: OnLocked,
  options: SeatOptions,
): Promise<readonly (Found | Error)[]> {
  return tryBatch(requests, onLocked, { ...options, retryConcurrency: RETRY_CONCURRENCY });
}

type TryOptions = SeatOptions & {
  readonly retryConcurrency: number;
  /** By `performance.now()`; undefined before the first failure. */
  readonly retriesEndAt?: number;
};

async function tryBatch(
  requests: readonly SeatRequest[],
  onLocked: OnLocked,
  options: TryOptions,
): Promise<readonly (Found | Error)[]> {
  try {
    return await runBatch(requests, onLocked, options);
  } catch (error) {
    if (!mayBeCausedByOneItem(error)) throw error;
    const parts = isLockFailure(error) ? byLicense(requests) : requests.map((request) => [request]);
    if (parts.length === 1) throw error;
    const results = new Map<SeatRequest, Found | Error>();
    const { retriesEndAt = performance.now() + RETRY_MS, retryConcurrency } = options;
    const tryParts = async (): Promise<void> => {
      for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
        if (performance.now() > retriesEndAt) return;
        const ofPart = { ...options, retriesEndAt, retryConcurrency: 1 };
        const found = await tryBatch(part, onLocked, ofPart).catch(toError);
        for (const [index, request] of part.entries())
          results.set(request, found instanceof Error ? found : (found[index] as Found | Error));
      }
    };
    await Promise.all(Array.from({ length: retryConcurrency }, tryParts));
    return requests.map((request) => results.get(request) ?? toError(error));
  }
}

function byLicense(requests: readonly SeatRequest[]): SeatRequest[][] {
  return [...Map.groupBy(requests, ({ keyHash }) => keyHash.toString('latin1')).values()];
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

async function runBatch(
  requests: readonly SeatRequest[],
  onLocked: OnLocked,
  { pool, clock, seatsTaken }: SeatOptions,
): Promise<Found[]> {
  const at = clock();
  const newSeatIds = requests.map(() => newUuid());
  const keyHashes = requests.map(({ keyHash }) => keyHash);
  const query = {
    name: 'find_or_allocate_seats',
    text: FIND_OR_ALLOCATE,
    values: [
      newSeatIds,
      keyHashes,
      requests.map(({ machineFingerprint }) => machineFingerprint),
      requests.map(({ machineLabel }) => machineLabel),
      requests.map(({ appVersion }) => appVersion),
      at,
    ],
  };
  type Row = LicenseWithSeat & { readonly position: string; readonly allocated: LockedTerms | null };
  const { rows } =
    onLocked === 'skip'
      ? await pool.query<Row>(query)
      : await inTransaction(
          pool,
          (client, send) => {
            void send({ name: 'lock_licenses', text: LOCK, values: [keyHashes] });
            return client.query<Row>(query);
          },
          { lockTimeoutMs: LOCK_TIMEOUT_MS },
        );
  const found: Found[] = requests.map(() => ({ license: undefined, newSeat: undefined, at }));
  for (const license of rows) {
    const index = Number(license.position) - 1;
    const { allocated, termsVersion, expiresAtMs } = license;
    if (allocated !== null) seatsTaken.inc();
    const newSeat = allocated && {
      seatId: newSeatIds[index] as string,
      isOutdated: allocated.version !== termsVersion || allocated.endsAtMs !== expiresAtMs,
    };
    found[index] = { license, newSeat: newSeat ?? undefined, at };
  }
  return found;
}

/** The terms of a license under its lock. `endsAtMs` is the expiry, without the grace period. */
type LockedTerms = { readonly version: number; readonly endsAtMs: number | null };

/** license_key_hash_key */
const LOCK = 'select from license where key_hash = any($1) order by id for no key update';

/**
 * Uses license_key_hash_key, app_pkey, signing_key_active_key, limit_profile_pkey, customer_pkey and
 * seat_active_key.
 *
 * PostgreSQL runs the subquery that calls `allocate_seats` when it reaches the first machine without a seat,
 * and only once. The function sees the latest version of each license, and the other columns the snapshot of
 * this statement.
 */
const FIND_OR_ALLOCATE = `
  select t.position, l.id as "licenseId", a.slug as app, nullif(c.name, '') as customer, l.limits,
         p.limits as "profileLimits", l.features,
         case when l.signed_metadata <> '{}' then (
           select jsonb_object_agg(key, value) from jsonb_each(l.metadata) where key = any(l.signed_metadata)
         ) end as "signedMetadata",
         l.lease_days as "leaseDays",
         -- As the trigger seat_counted_added sets it with the first seat.
         ${epochMs(`coalesce(l.expires_at,
           ($6::timestamptz at time zone 'UTC' + l.valid_for) at time zone 'UTC')`)} as "expiresAtMs",
         l.grace_days as "graceDays", l.terms_version as "termsVersion", k.kid,
         l.seat_limit as "seatLimit", l.seats_used as used,
         l.revoked_at is not null as revoked, l.suspended_at is not null as suspended,
         s.id as "seatId", s.machine_label as "machineLabel", s.app_version as "appVersion",
         ${epochMs('s.last_seen_at')} as "lastSeenAtMs",
         case when s.id is null then (select allocate_seats($1, $2, $3, $4, $5, $6)) -> t.new_id::text
         end as allocated
  from unnest($1::uuid[], $2::bytea[], $3::text[]) with ordinality
    as t (new_id, key_hash, machine_fingerprint,
    position)
  join license l on l.key_hash = t.key_hash
  join app a on a.id = l.app_id
  join signing_key k on k.app_id = l.app_id and k.retired_at is null
  left join limit_profile p on p.id = l.limit_profile_id
  left join customer c on c.id = l.customer_id
  left join lateral (
    -- The limit forces an index scan by license and machine; see check-status.ts.
    select * from seat where license_id = l.id and machine_fingerprint = t.machine_fingerprint
                         and released_at is null limit 1
  ) s on true`;
