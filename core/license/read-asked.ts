// What the database holds about licenses that machines ask for, by key.
import type { Pool, PoolClient } from 'pg';
import type { Limits } from './limits.ts';

export type AskedFor = { readonly keyHash: Buffer; readonly machineFingerprint: string };

/** What of a license is signed. */
export type Terms = {
  readonly licenseId: string;
  readonly app: string;
  readonly customer: string | null;
  readonly limits: Limits | null;
  readonly profileLimits: Limits | null;
  readonly leaseDays: number | null;
  readonly expiresAtMs: number | null;
  /** Of the app's active signing key. */
  readonly kid: string;
};

/** A license, and what the asking machine has of it. */
export type Asked = Terms & {
  /** -1 means unlimited. */
  readonly seatLimit: number;
  readonly revoked: boolean;
  /** The machine's active seat; the three after it are null without one. */
  readonly seatId: string | null;
  readonly machineLabel: string | null;
  readonly appVersion: string | null;
  readonly lastSeenAtMs: number | null;
  /** Active seats of the license. */
  readonly used: number;
};

/** The columns of `Terms`, and where they are from; `l` has those of a license. */
export const TERMS = `
  l.id as "licenseId", a.slug as app, l.customer, l.limits, p.limits as "profileLimits", l.lease_days as "leaseDays",
  (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs", k.kid`;
export const TERMS_JOINED = `
  join app a on a.id = l.app_id
  join signing_key k on k.app_id = l.app_id and k.retired_at is null
  left join limit_profile p on p.id = l.limit_profile_id`;

/** In the order of the questions; undefined where no license has the key. */
export async function readAsked(
  db: Pool | PoolClient,
  asks: readonly AskedFor[],
): Promise<(Asked | undefined)[]> {
  const { rows } = await db.query<Asked & { position: string }>({
    name: 'read_asked',
    // license_key_hash_key, app_pkey, signing_key_active_key, limit_profile_pkey; seat_active_key
    text: `select t.position, ${TERMS}, l.seat_limit as "seatLimit", l.revoked_at is not null as revoked,
                  s.id as "seatId", s.machine_label as "machineLabel", s.app_version as "appVersion",
                  (extract(epoch from s.last_seen_at) * 1000)::float8 as "lastSeenAtMs", l.seats_used as used
           from unnest($1::bytea[], $2::text[]) with ordinality as t (key_hash, machine_fingerprint, position)
           join license l on l.key_hash = t.key_hash ${TERMS_JOINED}
           left join lateral (
             -- See check-status.ts.
             select * from seat where license_id = l.id and machine_fingerprint = t.machine_fingerprint
                                  and released_at is null limit 1
           ) s on true`,
    values: [asks.map(({ keyHash }) => keyHash), asks.map(({ machineFingerprint }) => machineFingerprint)],
  });
  const found = new Map(rows.map((row) => [Number(row.position), row]));
  return asks.map((_, index) => found.get(index + 1));
}
