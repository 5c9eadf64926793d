// Soft check of a license and the seat of a machine. Concurrent requests share one statement.
import type { Pool } from 'pg';
import { LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import type { CheckStatusRequest } from '../../../gen/hub/license/v1/license_service_pb.ts';
import type { Clock } from '../../clock.ts';
import { HubError, unknownId } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import { columns } from '../../storage/sql/transaction.ts';
import { timestampsIn } from '../../timestamp.ts';
import { limitsToProto } from '../messages.ts';
import { graceEndsAtMs, ineligible } from '../state.ts';
import { effectiveLimits, type Limits } from '../terms.ts';
import type { LastSeen } from './last-seen.ts';

/**
 * The recommended interval: one day, as DEFAULT_RECHECK_SECONDS in client/hub/check-schedule.ts.
 */
const RECHECK_AFTER_SECONDS = 24 * 60 * 60;

export type CheckStatusOptions = { readonly pool: Pool; readonly lastSeen: LastSeen; readonly clock: Clock };

/**
 * Answers with the status. Rejects, in this order, with HubError `license_unknown`, `license_revoked`,
 * `license_suspended`, `license_expired`, `seat_not_active`.
 */
export function createCheckStatus({ pool, lastSeen, clock }: CheckStatusOptions) {
  const read = createBatcher<StatusLookup, StatusRow | undefined>({
    run: (lookups) => readStatus(pool, lookups),
  });
  return async ({ licenseId, machineFingerprint }: CheckStatusRequest) => {
    const uuid = parseId('lic', licenseId);
    const row = uuid && (await read({ uuid, machineFingerprint: machineFingerprint ?? null }));
    if (!row) throw unknownId('lic');
    const now = clock();
    const refusal = ineligible(row, now);
    if (refusal) throw refusal;
    if (machineFingerprint !== undefined) {
      if (row.seatId === null) {
        const message = 'this machine has no active seat on this license; activate it first';
        throw new HubError('seat_not_active', message, { field: 'machineFingerprint' });
      }
      lastSeen.touch(row.seatId, row.lastSeenAtMs, now);
    }
    const times = { checkedAt: now, expiresAt: dateOf(row.expiresAtMs), graceEndsAt: currentGrace(row, now) };
    return {
      licenseId,
      state: times.graceEndsAt ? LicenseState.GRACE : LicenseState.ACTIVE,
      seats: { limit: row.seatLimit, used: row.used },
      ...timestampsIn(times, 'checkedAt', 'expiresAt', 'graceEndsAt'),
      limits: limitsToProto(effectiveLimits(row.profileLimits ?? undefined, row.limits ?? undefined)),
      features: row.features,
      termsVersion: row.termsVersion,
      recheckAfterSeconds: RECHECK_AFTER_SECONDS,
    };
  };
}

/** When the grace ends, of a license that is past its expiry. */
function currentGrace(row: StatusRow, now: Date): Date | undefined {
  const endsAtMs = graceEndsAtMs(row);
  const isExpired = row.expiresAtMs !== null && row.expiresAtMs <= now.getTime();
  return isExpired && endsAtMs !== null ? new Date(endsAtMs) : undefined;
}

type StatusLookup = { readonly uuid: string; readonly machineFingerprint: string | null };

type StatusRow = {
  position: string | number;
  seatLimit: number;
  limits: Limits | null;
  profileLimits: Limits | null;
  features: string[];
  termsVersion: number;
  expiresAtMs: number | null;
  graceDays: number;
  revoked: boolean;
  suspended: boolean;
  used: number;
  seatId: string | null;
  lastSeenAtMs: number | null;
};

/** A single lookup has a statement without arrays, which takes PostgreSQL a seventh less time. */
async function readStatus(pool: Pool, lookups: readonly StatusLookup[]): Promise<(StatusRow | undefined)[]> {
  const [first, ...others] = lookups;
  const { rows } = await pool.query<StatusRow>(
    first && others.length === 0
      ? { name: 'check_status_of_one', text: OF_ONE, values: [first.uuid, first.machineFingerprint] }
      : { name: 'check_status', text: OF_MANY, values: columns(lookups, 'uuid', 'machineFingerprint') },
  );
  const found = new Map(rows.map((row) => [Number(row.position), row]));
  return lookups.map((_, index) => found.get(index + 1));
}

const OF_ONE = statusOf('(select $1::uuid, $2::text, 1)');
const OF_MANY = statusOf('unnest($1::uuid[], $2::text[]) with ordinality');

/** license_pkey, limit_profile_pkey, seat_active_key */
function statusOf(lookups: string): string {
  return `select t.position, l.seat_limit as "seatLimit", l.limits, p.limits as "profileLimits",
                 ${epochMs('l.expires_at')} as "expiresAtMs",
                 l.grace_days as "graceDays", l.revoked_at is not null as revoked,
                 l.suspended_at is not null as suspended, l.features, l.terms_version as "termsVersion",
                 l.seats_used as used, s.id as "seatId",
                 ${epochMs('s.last_seen_at')} as "lastSeenAtMs"
          from ${lookups} as t (license_id, machine_fingerprint, position)
          join license l on l.id = t.license_id
          left join limit_profile p on p.id = l.limit_profile_id
          left join lateral (
            -- The limit forces an index scan by license and machine. Without it, the planner may read
            -- all seats of the license, which can be many.
            select * from seat where license_id = l.id and machine_fingerprint = t.machine_fingerprint
                                 and released_at is null limit 1
          ) s on true`;
}
