// Seats machines on licenses, and refreshes what is known of machines that have a seat.
//
// A machine that is new to a license with room for it is seated by one statement, together with all others of its batch.
// Where there is more to be decided, or somebody holds the license, that statement leaves it out; it is then decided about
// under the lock of the license.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Count } from '../../metrics/counter.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { newUuid } from '../ids.ts';
import { inTransaction, mayBeOfOne, type Send } from '../storage/transaction.ts';
import { ineligible } from './eligibility.ts';
import { type Grant, grantSeats } from './grant-seats.ts';
import { licenseKeyUnknown } from './license-key.ts';
import { type Asked, type AskedFor, readAsked, TERMS, TERMS_JOINED, type Terms } from './read-asked.ts';

export type SeatAsk = AskedFor & {
  /** Empty leaves what is known of the machine. */
  readonly machineLabel: string;
  readonly appVersion: string;
};

/** Of a machine that had no seat when its license was read, a moment ago. */
export type NewcomerAsk = SeatAsk & Pick<Asked, 'licenseId'>;

/** With the license as it was when it was held. */
export type Seated = { readonly license: Terms; readonly seatId: string; readonly at: Date };

export type TakeOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts the machines that had no seat before. */
  readonly taken: Count;
};

const LOCK_TIMEOUT_MS = 1_000;

/**
 * Seats machines that are new to licenses with room, waiting for nobody's row. In order; undefined for those that have to
 * be decided about under the lock: by `takeSeats`.
 */
export async function seatNewcomers(
  asks: readonly NewcomerAsk[],
  { pool, clock, taken, logger }: TakeOptions,
): Promise<readonly (Seated | undefined)[]> {
  const at = clock();
  const ids = asks.map(() => newUuid());
  const { rows } = await pool
    .query<Terms & { id: string }>({
      name: 'seat_newcomers',
      text: SEAT_NEWCOMERS,
      values: [
        ids,
        asks.map(({ licenseId }) => licenseId),
        asks.map(({ machineFingerprint }) => machineFingerprint),
        asks.map(({ machineLabel }) => machineLabel),
        asks.map(({ appVersion }) => appVersion),
        at,
      ],
    })
    .catch((error) => {
      if (!mayBeOfOne(error)) throw error;
      logger.warn({ err: error }, 'new machines could not be seated together');
      return { rows: [] };
    });
  taken.add(rows.length);
  const seated = new Map(rows.map(({ id: seatId, ...license }) => [seatId, { license, seatId, at }]));
  return ids.map((id) => seated.get(id));
}

/**
 * license_pkey, app_pkey, signing_key_active_key, limit_profile_pkey; seat_active_key. The lock sees to it that a license that is
 * revoked, expired or full by now is left out, and that what is signed is what it says: its row is looked at again once
 * it is held. Who is held by somebody else is left out as well, so that no batch waits.
 */
const SEAT_NEWCOMERS = `
  with asked as (
    select *, row_number() over (partition by license_id order by position) as nth
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) with ordinality
      as t (id, license_id, machine_fingerprint, machine_label, app_version, position)
  ), open as materialized (
    select id, app_id, customer, seat_limit, seats_used, limits, limit_profile_id, lease_days, expires_at from license
    where id = any($2) and revoked_at is null and (expires_at is null or expires_at > $6)
      and (seat_limit = -1 or seats_used < seat_limit)
    order by id for no key update skip locked
  ), seated as (
    insert into seat (id, license_id, machine_fingerprint, machine_label, app_version, activated_at, last_seen_at)
    select a.id, a.license_id, a.machine_fingerprint, a.machine_label, a.app_version, $6, $6
    from asked a join open o on o.id = a.license_id
    where o.seat_limit = -1 or o.seats_used + a.nth <= o.seat_limit
    on conflict (license_id, machine_fingerprint) where released_at is null do nothing
    returning id, license_id
  )
  select seated.id, ${TERMS} from seated join open l on l.id = seated.license_id ${TERMS_JOINED}`;

/** One outcome for each, in order. Together if possible, otherwise each by itself. */
export async function takeSeats(
  asks: readonly SeatAsk[],
  options: TakeOptions,
): Promise<readonly (Seated | Error)[]> {
  try {
    return await takeTogether(asks, options);
  } catch (error) {
    if (asks.length === 1 || !mayBeOfOne(error)) throw error;
    const alone = asks.map((ask) =>
      takeTogether([ask], options).then(
        ([outcome]) => outcome,
        (cause: Error) => cause,
      ),
    );
    return (await Promise.all(alone)) as (Seated | Error)[]; // one outcome for one ask
  }
}

/** Lock the licenses, look at their seats, decide, write. */
async function takeTogether(
  asks: readonly SeatAsk[],
  { pool, clock, taken }: TakeOptions,
): Promise<(Seated | HubError)[]> {
  const { seated, newSeats } = await inTransaction(
    pool,
    async (client, send) => {
      const at = clock();
      lockLicenses(send, asks);
      // A statement of its own: only what starts after the lock was granted sees the seats as they are.
      const found = await readAsked(client, asks);
      const judged = asks.map((ask, index) => {
        const license = found[index];
        return license === undefined
          ? licenseKeyUnknown()
          : (ineligible(license, at) ?? { ...license, ...ask });
      });
      const eligible = judged.filter((each): each is Asked & SeatAsk => !(each instanceof HubError));
      const { outcomes, grants } = grantSeats(eligible);
      if (grants.length > 0) writeSeats(send, grants, at);

      const decided = outcomes[Symbol.iterator]();
      const seated = judged.map((each) => {
        if (each instanceof HubError) return each;
        const outcome = decided.next().value as Grant | HubError; // one for each that was asked about
        return outcome instanceof HubError ? outcome : { license: each, seatId: outcome.seatId, at };
      });
      return { seated, newSeats: grants.filter(({ isNew }) => isNew).length };
    },
    { lockTimeoutMs: LOCK_TIMEOUT_MS },
  );
  taken.add(newSeats);
  return seated;
}

/**
 * Locks the licenses, in the order of their ids so that no two batches wait for each other. The seats of a license
 * are changed only by whoever holds this lock: that is what keeps `seats_used` exact across processes.
 */
function lockLicenses(send: Send, asks: readonly AskedFor[]): void {
  send({
    name: 'lock_licenses',
    // license_key_hash_key
    text: 'select from license where key_hash = any($1::bytea[]) order by id for no key update',
    values: [asks.map(({ keyHash }) => keyHash)],
  });
}

function writeSeats(send: Send, grants: readonly Grant[], at: Date): void {
  send({
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
