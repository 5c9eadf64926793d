// The queue of deliveries: claims those that are due, and records their results.
import type { Pool } from 'pg';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import { columns } from '../../storage/sql/transaction.ts';

export type ClaimedDelivery = {
  readonly eventId: string;
  readonly endpointId: string;
  /** Identifies the claim. The claim is lost at this time, or when the event is replayed. */
  readonly claimedUntil: Date;
  /** Attempts before this one. */
  readonly attempts: number;
  readonly type: string;
  readonly objectId: string;
  readonly number: number;
  readonly at: Date;
  /** The stored object; null if none is stored. */
  readonly data: Readonly<Record<string, unknown>> | null;
};

/** An enabled endpoint with deliveries that are due. */
export type DueEndpoint = {
  readonly id: string;
  readonly url: string;
  readonly includeKeys: boolean;
  readonly sealedSecret: Buffer;
  readonly sealedPreviousSecret: Buffer | null;
  readonly previousSecretUntil: Date | null;
  /** When the first delivery since the last success failed. */
  readonly failingSince: Date | null;
};

/**
 * The duration of a claim, longer than its attempts can take. After this time, other hubs deliver what a
 * killed hub had claimed.
 */
const CLAIM_MS = 120_000;

const DUE_COLUMNS = `id, url, include_keys as "includeKeys", sealed_secret as "sealedSecret",
  sealed_previous_secret as "sealedPreviousSecret", ${epochMs('previous_secret_until')} as "previousUntilMs",
  ${epochMs('failing_since')} as "failingSinceMs"`;

export async function findDueEndpoints(pool: Pool, now: Date): Promise<DueEndpoint[]> {
  const { rows } = await pool.query<DueRow>({
    name: 'due_endpoints',
    // event_delivery_due_idx
    text: `select ${DUE_COLUMNS} from event_endpoint e
           where disabled_at is null and removed_at is null and exists (
             select from event_delivery d
             where d.endpoint_id = e.id and d.state = 'pending' and d.next_attempt_at <= $1)`,
    values: [now],
  });
  return rows.map(toDueEndpoint);
}

/** Reads the endpoint with this UUID; undefined if it is disabled or removed. */
export async function readEndpoint(pool: Pool, id: string): Promise<DueEndpoint | undefined> {
  const { rows } = await pool.query<DueRow>({
    name: 'read_due_endpoint',
    // event_endpoint_pkey
    text: `select ${DUE_COLUMNS} from event_endpoint
           where id = $1 and disabled_at is null and removed_at is null`,
    values: [id],
  });
  return rows.map(toDueEndpoint)[0];
}

type DueRow = Omit<DueEndpoint, 'previousSecretUntil' | 'failingSince'> & {
  readonly previousUntilMs: number | null;
  readonly failingSinceMs: number | null;
};

function toDueEndpoint({ previousUntilMs, failingSinceMs, ...row }: DueRow): DueEndpoint {
  return { ...row, previousSecretUntil: dateOf(previousUntilMs), failingSince: dateOf(failingSinceMs) };
}

/** Claims up to `limit` due deliveries of an endpoint, the longest overdue first. */
export async function claimDeliveries(
  pool: Pool,
  endpointId: string,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<ClaimedDelivery[]> {
  const claimedUntil = new Date(now.getTime() + CLAIM_MS);
  const { rows } = await pool.query<ClaimedRow>({
    name: 'claim_deliveries',
    // event_delivery_due_idx, event_delivery_pkey, event_pkey, event_data_pkey. OFFSET 0 keeps the order of
    // the joins: without it, PostgreSQL reads the tables as a whole.
    text: `with due as (
             select event_id from event_delivery
             where endpoint_id = $1 and state = 'pending' and next_attempt_at <= $2
             order by next_attempt_at limit $3 for update skip locked
           ), claimed as (
             update event_delivery d set next_attempt_at = $4
             where d.endpoint_id = $1 and d.event_id = any(array(select event_id from due))
             returning d.event_id, d.attempts
           )
           select c.event_id as "eventId", $1 as "endpointId", c.attempts, e.type, e.object_id as "objectId",
                  e.number, ${epochMs('e.at')} as "atMs", d.data
           from claimed c
           cross join lateral (
             select type, object_id, number, at from event where id = c.event_id offset 0) e
           left join lateral (select data from event_data where event_id = c.event_id offset 0) d on true
           order by e.number`,
    values: [endpointId, now, limit, claimedUntil],
  });
  return rows.map(({ number, atMs, ...row }) => ({
    ...row,
    claimedUntil,
    number: Number(number),
    at: new Date(atMs),
  }));
}

type ClaimedRow = Omit<ClaimedDelivery, 'claimedUntil' | 'number' | 'at'> & {
  readonly number: string;
  readonly atMs: number;
};

export type FinishedDelivery = Pick<ClaimedDelivery, 'eventId' | 'endpointId' | 'claimedUntil'> & {
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly at: Date;
  /** False if the hub could not build the webhook, so that the attempt says nothing about the endpoint. */
  readonly isBuilt: boolean;
  /** Undefined unless the delivery stays pending. */
  readonly nextAttemptAt: Date | undefined;
  readonly status: number | undefined;
  readonly body: string | undefined;
  readonly problem: string | undefined;
  readonly durationMs: number;
};

/**
 * Records the results of attempts whose claims are not lost. Sets `failing_since` of an endpoint at its first
 * failure, and clears it at the next success. Webhooks that the hub could not build do not change it.
 */
export async function finishDeliveries(pool: Pool, finished: readonly FinishedDelivery[]): Promise<void> {
  await pool.query({
    name: 'finish_deliveries',
    // event_delivery_pkey, event_endpoint_pkey
    text: `with finished as (
             select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::timestamptz[],
               $6::int[], $7::text[], $8::text[], $9::int[], $10::timestamptz[], $11::boolean[])
             as t (event_id, endpoint_id, state, at, next_attempt_at, status, body, problem, duration_ms,
               claimed_until, is_built)
           ), updated as (
             update event_delivery d
             set state = t.state, attempts = d.attempts + 1, next_attempt_at = t.next_attempt_at,
                 last_attempt_at = t.at, response_status = t.status, response_body = t.body,
                 problem = t.problem, duration_ms = t.duration_ms
             from finished t
             where d.event_id = t.event_id and d.endpoint_id = t.endpoint_id and d.event_id = any($1)
               and d.state = 'pending' and d.next_attempt_at = t.claimed_until
           ), results as (
             select endpoint_id, bool_or(state = 'delivered') as succeeds, min(at) as at
             from finished where is_built group by endpoint_id
           ), changed as (
             -- In the order of ids, so that two hubs do not deadlock.
             select e.id, r.succeeds, r.at from event_endpoint e join results r on r.endpoint_id = e.id
             where (e.failing_since is null) <> r.succeeds order by e.id for no key update of e
           )
           update event_endpoint e
           set failing_since = case when not c.succeeds then c.at end
           from changed c where e.id = c.id`,
    values: [
      ...columns(finished, 'eventId', 'endpointId', 'state', 'at', 'nextAttemptAt'),
      ...columns(finished, 'status', 'body', 'problem'),
      finished.map(({ durationMs }) => Math.round(durationMs)),
      ...columns(finished, 'claimedUntil', 'isBuilt'),
    ],
  });
}

/**
 * Returns whether each claim is still held. An erasure and a replay end claims: what was read with the claim
 * must not be sent then.
 */
export async function areHeld(pool: Pool, claims: readonly ClaimedDelivery[]): Promise<boolean[]> {
  const { rows } = await pool.query<{ held: boolean }>({
    name: 'held_claims',
    // event_delivery_pkey. OFFSET 0 keeps the order of the joins.
    text: `select d.held is not null as held
           from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) with ordinality
             as t (event_id, endpoint_id, claimed_until, place)
           left join lateral (
             select true as held from event_delivery
             where event_id = t.event_id and endpoint_id = t.endpoint_id and state = 'pending'
               and next_attempt_at = t.claimed_until offset 0) d on true
           order by t.place`,
    values: columns(claims, 'eventId', 'endpointId', 'claimedUntil'),
  });
  return rows.map(({ held }) => held);
}

/** Releases claims, so that any hub can deliver at once. */
export async function releaseClaims(
  pool: Pool,
  claims: readonly ClaimedDelivery[],
  now: Date,
): Promise<void> {
  if (claims.length === 0) return;
  await pool.query({
    name: 'release_claims',
    // event_delivery_pkey
    text: `update event_delivery d set next_attempt_at = $3
           from unnest($1::uuid[], $2::uuid[], $4::timestamptz[]) as t (event_id, endpoint_id, claimed_until)
           where d.event_id = t.event_id and d.endpoint_id = t.endpoint_id and d.event_id = any($1)
             and d.state = 'pending' and d.next_attempt_at = t.claimed_until`,
    values: [...columns(claims, 'eventId', 'endpointId'), now, ...columns(claims, 'claimedUntil')],
  });
}
