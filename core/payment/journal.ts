// The callback journal: what providers sent, committed before anything else is done about it.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid, parseId } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { inTransaction } from '../storage/transaction.ts';
import type { CallbackStateName } from './entities.ts';
import type { Jobs } from './jobs.ts';

export type ReceivedCallback = {
  readonly gateway: string;
  /** `session_id` of the query as it was sent. */
  readonly claimedSessionId: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
};

export type JournaledCallback = ReceivedCallback & {
  readonly id: string;
  readonly state: CallbackStateName;
  readonly receivedAt: Date;
};

/** What came of a callback. */
export type Outcome = {
  readonly state: Exclude<CallbackStateName, 'received'>;
  readonly reason: string;
  readonly sessionId?: string | undefined;
};

export type Journal = {
  /** Commits the callback together with its job; resolves with its id then. */
  append(callback: ReceivedCallback): Promise<string>;
  read(id: string): Promise<JournaledCallback | undefined>;
  /** Notes an attempt that came to nothing. */
  postpone(id: string, reason: string, sessionId: string | undefined): Promise<void>;
  /** Notes what came of it, outside of a settlement. */
  finish(id: string, outcome: Outcome): Promise<void>;
};

const MAX_BATCH = 128;
const MAX_BATCHES_IN_FLIGHT = 2;

export function createJournal({ pool, jobs, clock }: { pool: Pool; jobs: Jobs; clock: Clock }): Journal {
  const append = createBatcher<ReceivedCallback, string>({
    maxSize: MAX_BATCH,
    maxInFlight: MAX_BATCHES_IN_FLIGHT,
    run: (callbacks) =>
      inTransaction(pool, async (client) => {
        const ids = callbacks.map(() => newUuid());
        await client.query({
          name: 'append_callbacks',
          text: `insert into callback (id, gateway, claimed_session_id, fields, received_at, state, reason, attempts)
                 select id, gateway, claimed_session_id, fields, $5, 'received', '', 0
                 from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[])
                   as t (id, gateway, claimed_session_id, fields)`,
          values: [
            ids,
            callbacks.map(({ gateway }) => gateway),
            callbacks.map(({ claimedSessionId }) => claimedSessionId ?? null),
            callbacks.map(({ fields }) => JSON.stringify(fields)),
            clock(),
          ],
        });
        await jobs.enqueue(client, ids);
        return ids;
      }),
  });
  return {
    append,

    async read(id) {
      const { rows } = await pool.query({
        name: 'read_callback',
        text: `select gateway, claimed_session_id as "claimedSessionId", fields, state,
                      (extract(epoch from received_at) * 1000)::float8 as "receivedAtMs"
               from callback where id = $1`,
        values: [id],
      });
      const [row] = rows;
      if (row === undefined) return undefined;
      const { receivedAtMs, claimedSessionId, ...rest } = row;
      return {
        ...rest,
        id,
        claimedSessionId: claimedSessionId ?? undefined,
        receivedAt: new Date(receivedAtMs),
      };
    },

    async postpone(id, reason, sessionId) {
      await pool.query({
        name: 'postpone_callback',
        text: `update callback set attempts = attempts + 1, reason = $2, session_id = coalesce($3, session_id)
               where id = $1 and state = 'received'`,
        values: [id, reason, sessionId ?? null],
      });
    },

    finish: (id, outcome) => finishCallback(pool, id, outcome, clock()),
  };
}

/** Notes what came of a callback, in whatever transaction `db` is in. What is settled stays settled. */
export async function finishCallback(
  db: Pool | PoolClient,
  id: string,
  { state, reason, sessionId }: Outcome,
  at: Date,
): Promise<void> {
  await db.query({
    name: 'finish_callback',
    text: `update callback
           set state = $2, reason = $3, session_id = coalesce($4, session_id), finished_at = $5, attempts = attempts + 1
           where id = $1 and state <> 'settled'`,
    values: [id, state, reason, sessionId ?? null, at],
  });
}

/** The session id that a callback claims, if it is one at all. */
export function claimedSession({ claimedSessionId }: ReceivedCallback): string | undefined {
  return claimedSessionId === undefined ? undefined : parseId('chs', claimedSessionId);
}
