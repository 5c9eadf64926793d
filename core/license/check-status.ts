// The soft check: is a license good, and is a machine seated on it? Requests at the same time share one statement.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { HubError, type SeatUsage } from '../errors.ts';
import { parseId } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { ineligible } from './eligibility.ts';
import type { LastSeen } from './last-seen.ts';
import { effectiveLimits, type Limits } from './limits.ts';

export type CheckStatusRequest = {
  readonly licenseId: string;
  readonly machineFingerprint?: string | undefined;
};

export type LicenseStatus = {
  readonly licenseId: string;
  readonly seats: SeatUsage;
  readonly expiresAt: Date | undefined;
  readonly limits: Limits | undefined;
  readonly checkedAt: Date;
};

export type CheckStatusOptions = { readonly pool: Pool; readonly lastSeen: LastSeen; readonly clock: Clock };

const MAX_BATCH = 128;
const MAX_BATCHES_IN_FLIGHT = 2;

/**
 * Rejects, in this order, with HubError `license_unknown`, `license_revoked`, `license_expired`, `seat_not_active`.
 */
export function createCheckStatus({ pool, lastSeen, clock }: CheckStatusOptions) {
  const read = createBatcher<Ask, StatusRow | undefined>({
    run: (asks) => readAll(pool, asks),
    maxSize: MAX_BATCH,
    maxInFlight: MAX_BATCHES_IN_FLIGHT,
  });
  return async ({ licenseId, machineFingerprint }: CheckStatusRequest): Promise<LicenseStatus> => {
    const uuid = parseId('lic', licenseId);
    const row = uuid && (await read({ uuid, machineFingerprint: machineFingerprint ?? null }));
    if (!row)
      throw new HubError('license_unknown', 'there is no license with this id', { field: 'licenseId' });
    const now = clock();
    const refusal = ineligible(row, now);
    if (refusal) throw refusal;
    if (machineFingerprint !== undefined) {
      if (row.seatId === null) {
        throw new HubError(
          'seat_not_active',
          'this machine has no active seat on this license; activate it first',
          {
            field: 'machineFingerprint',
          },
        );
      }
      lastSeen.touch(row.seatId, row.lastSeenAtMs ?? 0, now);
    }
    return {
      licenseId, // an id has one spelling
      seats: { limit: row.seatLimit, used: row.used },
      expiresAt: row.expiresAtMs === null ? undefined : new Date(row.expiresAtMs),
      limits: effectiveLimits(row.profileLimits ?? undefined, row.limits ?? undefined),
      checkedAt: now,
    };
  };
}

type Ask = { readonly uuid: string; readonly machineFingerprint: string | null };

type StatusRow = {
  position: string | number;
  seatLimit: number;
  limits: Limits | null;
  profileLimits: Limits | null;
  expiresAtMs: number | null;
  revoked: boolean;
  used: number;
  seatId: string | null;
  lastSeenAtMs: number | null;
};

/** What is known of each that is asked for; of one alone it takes PostgreSQL a seventh less time without arrays. */
async function readAll(pool: Pool, asks: readonly Ask[]): Promise<(StatusRow | undefined)[]> {
  const [first, ...others] = asks;
  const { rows } = await pool.query<StatusRow>(
    first && others.length === 0
      ? { name: 'check_status_of_one', text: OF_ONE, values: [first.uuid, first.machineFingerprint] }
      : {
          name: 'check_status',
          text: OF_MANY,
          values: [asks.map(({ uuid }) => uuid), asks.map(({ machineFingerprint }) => machineFingerprint)],
        },
  );
  const found = new Map(rows.map((row) => [Number(row.position), row]));
  return asks.map((_, index) => found.get(index + 1));
}

const OF_ONE = statusOf('(select $1::uuid, $2::text, 1)');
const OF_MANY = statusOf('unnest($1::uuid[], $2::text[]) with ordinality');

/** By license_pkey, limit_profile_pkey and seat_active_key. */
function statusOf(asks: string): string {
  return `select t.position, l.seat_limit as "seatLimit", l.limits, p.limits as "profileLimits",
                 (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs",
                 l.revoked_at is not null as revoked,
                 l.seats_used as used, s.id as "seatId", (extract(epoch from s.last_seen_at) * 1000)::float8 as "lastSeenAtMs"
          from ${asks} as t (license_id, machine_fingerprint, position)
          join license l on l.id = t.license_id
          left join limit_profile p on p.id = l.limit_profile_id
          left join lateral (
            -- The limit keeps the look-up whole: joined, it may be made by the license alone, whose seats are many.
            select * from seat where license_id = l.id and machine_fingerprint = t.machine_fingerprint
                                 and released_at is null limit 1
          ) s on true`;
}
