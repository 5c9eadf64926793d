// Reads licenses by key, each with its signing terms and the seat of the requesting machine.
import type { Pool } from 'pg';
import type { Limits } from '../admin/limits.ts';

export type LicenseLookup = { readonly keyHash: Buffer; readonly machineFingerprint: string };

/** The terms that a signed license states. */
export type LicenseTerms = {
  readonly licenseId: string;
  readonly app: string;
  readonly customer: string | null;
  readonly limits: Limits | null;
  readonly profileLimits: Limits | null;
  readonly leaseDays: number | null;
  readonly expiresAtMs: number | null;
  /** Id of the app's active signing key. */
  readonly kid: string;
};

/** A license and the active seat of one machine. The four members of the seat are null if there is none. */
export type LicenseWithSeat = LicenseTerms & {
  /** -1 means unlimited. */
  readonly seatLimit: number;
  /** Number of active seats. */
  readonly used: number;
  readonly revoked: boolean;
  readonly seatId: string | null;
  readonly machineLabel: string | null;
  readonly appVersion: string | null;
  readonly lastSeenAtMs: number | null;
};

/** The columns of `LicenseTerms`, and the joins they need; `l` is the license. */
export const TERMS = `
  l.id as "licenseId", a.slug as app, l.customer, l.limits, p.limits as "profileLimits",
  l.lease_days as "leaseDays", (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs", k.kid`;
export const TERMS_JOINS = `
  join app a on a.id = l.app_id
  join signing_key k on k.app_id = l.app_id and k.retired_at is null
  left join limit_profile p on p.id = l.limit_profile_id`;

/** Returns one element per lookup, in order; undefined if no license has the key. */
export async function lookupLicenses(
  pool: Pool,
  lookups: readonly LicenseLookup[],
): Promise<(LicenseWithSeat | undefined)[]> {
  const { rows } = await pool.query<LicenseWithSeat & { position: string }>({
    name: 'lookup_licenses',
    // license_key_hash_key, app_pkey, signing_key_active_key, limit_profile_pkey; seat_active_key
    text: `select t.position, ${TERMS}, l.seat_limit as "seatLimit", l.seats_used as used,
                  l.revoked_at is not null as revoked,
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
      lookups.map(({ keyHash }) => keyHash),
      lookups.map(({ machineFingerprint }) => machineFingerprint),
    ],
  });
  const found = new Map(rows.map((row) => [Number(row.position), row]));
  return lookups.map((_, index) => found.get(index + 1));
}
