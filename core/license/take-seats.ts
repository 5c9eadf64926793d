// Seats machines on licenses, and refreshes what is known of machines that have a seat: all in one transaction.
import type { Pool } from 'pg';
import type { Count } from '../../metrics/counter.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { inTransaction, isLockTrouble, type Send } from '../storage/transaction.ts';
import { ineligible } from './eligibility.ts';
import { type Grant, grantSeats } from './grant-seats.ts';
import { licenseKeyUnknown } from './license-key.ts';
import { type Asked, type AskedFor, readAsked } from './read-asked.ts';

export type SeatAsk = AskedFor & {
  /** Empty leaves what is known of the machine. */
  readonly machineLabel: string;
  readonly appVersion: string;
};

export type Seated = { readonly license: Asked; readonly seatId: string; readonly at: Date };

export type TakeOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  /** Counts the machines that had no seat before. */
  readonly taken: Count;
};

const LOCK_TIMEOUT_MS = 1_000;

/**
 * One outcome for each, in order. Together if possible; if somebody holds on to one of the licenses, each by itself: only
 * that one has to wait.
 */
export async function takeSeats(asks: readonly SeatAsk[], options: TakeOptions): Promise<(Seated | Error)[]> {
  try {
    return await takeTogether(asks, options);
  } catch (error) {
    if (asks.length === 1 || !isLockTrouble(error)) throw error;
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
