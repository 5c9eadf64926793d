// Payment ids, other than the session's own, that callbacks have named and the provider is still to be asked about.
//
// They are kept in the session's row of callback_count: a callback that is only counted leaves nothing else. Anybody can
// send forged ones, so only the newest are kept, and the newest are asked about first.
import type { Pool, PoolClient, QueryConfig } from 'pg';

/** Payment ids that one check asks about: each is a question of its own where the provider has no list. */
const ASKED_AT_ONCE = 5;
/** Payment ids that a session keeps. */
export const MOST_CHECKOUTS = 50;

/** The newest distinct ones of an array, the oldest of them first. */
export function newestCheckouts(all: string): string {
  return `array(
    select id from (
      select u.id, max(u.place) as place from unnest(${all}) with ordinality as u (id, place)
      group by u.id order by place desc limit ${MOST_CHECKOUTS}
    ) as newest order by place)`;
}

/** The statement that keeps payment ids of sessions: `found` selects a session and an array of its ids. */
export function noteCheckouts(found: string): string {
  // callback_count_pkey; in the order of the ids, so that no two wait for each other in a circle
  return `insert into callback_count as k (session_id, kept, ignored, mismatch, other_checkouts)
    select f.session_id, 0, 0, 0, f.ids from (${found}) as f (session_id, ids) order by f.session_id
    on conflict (session_id) do update
    set other_checkouts = ${newestCheckouts('k.other_checkouts || excluded.other_checkouts')}`;
}

/** Whether a payment id is neither of another session nor of a known duplicate of this one. */
export function isUnknownCheckout(sessionId: string, checkout: string): string {
  // charge_session_provider_payment_id_key, duplicate_payment_session_idx
  return `${checkout} is not null
    and not exists (select from charge_session o where o.provider_payment_id = ${checkout})
    and not exists (
      select from duplicate_payment d where d.session_id = ${sessionId} and d.provider_payment_id = ${checkout})`;
}

export type CheckoutsToAsk = {
  readonly ids: readonly string[];
  /** How many questions callbacks had caused when they were read. */
  readonly questions: number;
};

/** The newest first. */
export async function readCheckouts(pool: Pool, sessionId: string): Promise<CheckoutsToAsk> {
  const { rows } = await pool.query<{ ids: string[]; questions: number }>({
    name: 'read_other_checkouts',
    // charge_session_pkey, callback_count_pkey
    text: `select c.callback_questions as questions,
                  array(select u.id from unnest(k.other_checkouts) with ordinality as u (id, place)
                        order by u.place desc limit ${ASKED_AT_ONCE}) as ids
           from charge_session c left join callback_count k on k.session_id = c.id
           where c.id = $1`,
    values: [sessionId],
  });
  return rows[0] ?? { ids: [], questions: 0 };
}

export type AskedCheckouts = {
  readonly asked: CheckoutsToAsk;
  /** The provider did not say what they are: they are asked about again after all others. */
  readonly unanswered: readonly string[];
  /** Kept as duplicate payments. */
  readonly found: readonly string[];
};

/**
 * Drops the ids that the provider has answered; resolves with how many are left. If a callback has named a payment since
 * they were read, the answer may be older than the payment, so those that were not found are asked about once more.
 */
export async function dropAnswered(
  client: PoolClient,
  sessionId: string,
  { asked, unanswered, found }: AskedCheckouts,
): Promise<number> {
  const query: QueryConfig = {
    name: 'drop_other_checkouts',
    // callback_count_pkey, charge_session_pkey
    text: `update callback_count k
           set other_checkouts = array(
             select u.id from unnest(k.other_checkouts) with ordinality as u (id, place)
             where u.id <> all($2) or u.id = any($3) or (c.callback_questions <> $5 and u.id <> all($4))
             order by u.id = any($2) desc, u.place)
           from charge_session c
           where k.session_id = $1 and c.id = $1 and k.other_checkouts <> '{}'
           returning cardinality(k.other_checkouts) as "left"`,
    values: [sessionId, asked.ids, unanswered, found, asked.questions],
  };
  const { rows } = await client.query<{ left: number }>(query);
  return rows[0]?.left ?? 0;
}
