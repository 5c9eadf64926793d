// Activation: binds machines to licenses. Requests of the same tick share one transaction.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { inTransaction, isLockTrouble } from '../storage/transaction.ts';
import { ineligible } from './eligibility.ts';
import { type Grant, grantSeats, type SeatRequest } from './grant-seats.ts';
import type { Keyring } from './keyring.ts';
import { hashLicenseKey, normalizeLicenseKey } from './license-key.ts';
import { effectiveLimits, type Limits } from './limits.ts';
import { type LicenseContent, type SignedLicense, signLicense } from './signed-license.ts';

export type ActivateRequest = {
  readonly licenseKey: string;
  readonly machineFingerprint: string;
  readonly machineLabel: string;
  readonly appVersion: string;
};

export type Activation = { readonly license: SignedLicense; readonly publicKeyPem: string };

export type ActivateOptions = { readonly pool: Pool; readonly keyring: Keyring; readonly clock: Clock };

const MAX_BATCH = 128;
const MAX_BATCHES_IN_FLIGHT = 2;
const LOCK_TIMEOUT_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Activates one machine. Rejects with HubError `license_key_unknown`, `license_revoked`, `license_expired`
 * or `seat_limit_reached`; nothing is written then.
 */
export function createActivate({ pool, keyring, clock }: ActivateOptions) {
  const seat = createBatcher<Ask, Seated>({
    run: (asks) => seatTogether(pool, asks, clock),
    maxSize: MAX_BATCH,
    maxInFlight: MAX_BATCHES_IN_FLIGHT,
  });
  return async (request: ActivateRequest): Promise<Activation> => {
    const { license, grant, at } = await seat({ ...request, keyHash: hashKey(request.licenseKey) });
    const { privateKey, publicKeyPem } = await keyring.get(license.kid);
    return { license: signLicense(licenseContent(license, grant, at), privateKey), publicKeyPem };
  };
}

/** SHA-256 of the normalized key. @throws HubError `license_key_unknown` for text that cannot be a key. */
export function hashKey(licenseKey: string): Buffer {
  const normalized = normalizeLicenseKey(licenseKey);
  if (normalized !== undefined) return hashLicenseKey(normalized);
  throw new HubError('license_key_unknown', 'this is not a license key; check it for typing errors', {
    field: 'licenseKey',
  });
}

export function licenseKeyUnknown(): HubError {
  return new HubError('license_key_unknown', 'no license has this key', { field: 'licenseKey' });
}

/** Together if possible. If somebody holds on to one of the licenses, each by itself: only that one has to wait. */
async function seatTogether(pool: Pool, asks: readonly Ask[], clock: Clock): Promise<(Seated | Error)[]> {
  const attempt = (some: readonly Ask[]) =>
    inTransaction(pool, (client) => seatAll(client, some, clock()), { lockTimeoutMs: LOCK_TIMEOUT_MS });
  try {
    return await attempt(asks);
  } catch (error) {
    if (asks.length === 1 || !isLockTrouble(error)) throw error;
    const alone = asks.map((ask) =>
      attempt([ask]).then(
        ([outcome]) => outcome,
        (cause: Error) => cause,
      ),
    );
    return (await Promise.all(alone)) as (Seated | Error)[]; // one outcome for one ask
  }
}

type Ask = ActivateRequest & { readonly keyHash: Buffer };
type Seated = { readonly license: LockedLicense; readonly grant: Grant; readonly at: Date };

/** One transaction for all: lock the licenses, look at their seats, decide, write. */
async function seatAll(client: PoolClient, asks: readonly Ask[], at: Date): Promise<(Seated | HubError)[]> {
  const licenses = await lockLicenses(client, asks);
  const judged = asks.map((ask) => {
    const license = licenses.get(ask.keyHash.toString('hex'));
    if (license === undefined) return licenseKeyUnknown();
    return ineligible(license, at) ?? { ask, license };
  });
  const eligible = judged.filter((entry): entry is Eligible => !(entry instanceof HubError));
  const { outcomes, grants } = grantSeats(eligible.length > 0 ? await findSeats(client, eligible) : []);
  if (grants.length > 0) await writeSeats(client, grants, at);

  const decided = outcomes[Symbol.iterator]();
  return judged.map((entry) => {
    if (entry instanceof HubError) return entry;
    const grant: Grant | HubError = decided.next().value as Grant | HubError; // one for each eligible entry
    return grant instanceof HubError ? grant : { license: entry.license, grant, at };
  });
}

type LockedLicense = {
  id: string;
  app: string;
  customer: string | null;
  seatLimit: number;
  limits: Limits | null;
  profileLimits: Limits | null;
  leaseDays: number | null;
  expiresAtMs: number | null;
  revoked: boolean;
  kid: string;
};

/**
 * Locks the licenses, in the order of their ids so that no two batches wait for each other. The seats of a license
 * are changed only by whoever holds this lock: that is what keeps the count exact across processes.
 */
async function lockLicenses(client: PoolClient, asks: readonly Ask[]): Promise<Map<string, LockedLicense>> {
  const hashes = [...new Map(asks.map(({ keyHash }) => [keyHash.toString('hex'), keyHash])).values()];
  const { rows } = await client.query<LockedLicense & { keyHash: Buffer }>({
    name: 'lock_licenses',
    // license_key_hash_key, app_pkey, signing_key_active_key, limit_profile_pkey
    text: `select l.id, l.key_hash as "keyHash", a.slug as app, l.customer, l.seat_limit as "seatLimit", l.limits,
                  p.limits as "profileLimits", l.lease_days as "leaseDays",
                  (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs",
                  l.revoked_at is not null as revoked, k.kid
           from license l
           join app a on a.id = l.app_id
           join signing_key k on k.app_id = l.app_id and k.retired_at is null
           left join limit_profile p on p.id = l.limit_profile_id
           where l.key_hash = any($1::bytea[])
           order by l.id
           for no key update of l`,
    values: [hashes],
  });
  return new Map(rows.map((row) => [row.keyHash.toString('hex'), row]));
}

type Eligible = { readonly ask: Ask; readonly license: LockedLicense };

/** A statement of its own: only what starts after the lock was granted sees the seats as they are. */
async function findSeats(client: PoolClient, eligible: readonly Eligible[]): Promise<SeatRequest[]> {
  const { rows } = await client.query<{ position: string; seatId: string | null; used: number | null }>({
    name: 'find_seats',
    // seat_active_key for both; a machine that has a seat, or a license without a limit, needs no count
    text: `select t.position, s.id as "seatId",
                  case when s.id is null and t.seat_limit <> -1 then
                    (select count(*)::int from seat c where c.license_id = t.license_id and c.released_at is null)
                  end as used
           from unnest($1::uuid[], $2::text[], $3::int[]) with ordinality
                as t (license_id, machine_fingerprint, seat_limit, position)
           left join seat s on s.license_id = t.license_id and s.machine_fingerprint = t.machine_fingerprint
                           and s.released_at is null`,
    values: [
      eligible.map(({ license }) => license.id),
      eligible.map(({ ask }) => ask.machineFingerprint),
      eligible.map(({ license }) => license.seatLimit),
    ],
  });
  const found = new Map(rows.map((row) => [Number(row.position), row]));
  return eligible.map(({ ask, license }, index) => ({
    licenseId: license.id,
    machineFingerprint: ask.machineFingerprint,
    machineLabel: ask.machineLabel,
    appVersion: ask.appVersion,
    seatLimit: license.seatLimit,
    seatId: found.get(index + 1)?.seatId ?? null,
    used: found.get(index + 1)?.used ?? null,
  }));
}

async function writeSeats(client: PoolClient, grants: readonly Grant[], at: Date): Promise<void> {
  await client.query({
    name: 'write_seats',
    text: `with granted as (
             select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::boolean[])
               as t (id, license_id, machine_fingerprint, machine_label, app_version, is_new)
           ), locked as materialized (
             -- in the order of their ids, as the last-seen writer does, so that the two do not deadlock
             select id from seat where id = any($1::uuid[]) order by id for no key update
           ), refreshed as (
             update seat s
             set machine_label = coalesce(nullif(g.machine_label, ''), s.machine_label),
                 app_version = coalesce(nullif(g.app_version, ''), s.app_version),
                 last_seen_at = $7
             from granted g join locked l on l.id = g.id
             where s.id = l.id and not g.is_new
           )
           insert into seat (id, license_id, machine_fingerprint, machine_label, app_version, activated_at, last_seen_at)
           select id, license_id, machine_fingerprint, machine_label, app_version, $7, $7 from granted where is_new`,
    values: [
      grants.map((grant) => grant.seatId),
      grants.map((grant) => grant.licenseId),
      grants.map((grant) => grant.machineFingerprint),
      grants.map((grant) => grant.machineLabel),
      grants.map((grant) => grant.appVersion),
      grants.map((grant) => grant.isNew),
      at,
    ],
  });
}

function licenseContent(license: LockedLicense, grant: Grant, at: Date): LicenseContent {
  const limits = effectiveLimits(license.profileLimits ?? undefined, license.limits ?? undefined);
  return {
    licenseId: formatId('lic', license.id),
    app: license.app,
    seatId: formatId('seat', grant.seatId),
    machineFingerprint: grant.machineFingerprint,
    ...(license.customer !== null && { customer: license.customer }),
    ...(limits && { limits }),
    issuedAt: at.toISOString(),
    ...(license.expiresAtMs !== null && { expiresAt: new Date(license.expiresAtMs).toISOString() }),
    ...(license.leaseDays !== null && {
      leaseExpiresAt: new Date(at.getTime() + license.leaseDays * DAY_MS).toISOString(),
    }),
    kid: license.kid,
  };
}
