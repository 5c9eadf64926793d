// The callback journal: what providers sent, committed before anything else is done about it.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import type { Write } from '../storage/join-statements.ts';
import { UNHURRIED } from '../storage/unhurried.ts';
import { type Appended, type Appending, appendCallbacks } from './append-callbacks.ts';
import type { CountCallback, NamedPayment } from './count-callbacks.ts';
import type { CallbackStateName } from './entities.ts';
import type { FindSession } from './find-session.ts';
import type { CallbackClaim } from './provider.ts';
import { claimedSession, type ReceivedCallback } from './received-callback.ts';
import { resolveSession } from './resolve.ts';
import type { SessionFacts } from './session-facts.ts';
import type { TakenLease, VerificationLease } from './verification-lease.ts';

export type JournaledCallback = ReceivedCallback & {
  readonly id: string;
  readonly state: CallbackStateName;
  /** When an attempt first came to nothing, since its replay if there was one. */
  readonly triedSince: Date | undefined;
  /** Whether it waits for the next question about its session. */
  readonly waits: boolean;
  /** The session that it claims to be about, if there is one, as it was when the callback was journaled. */
  readonly claimedSession?: SessionFacts | undefined;
  /** The lease of that session, if it was taken with it. */
  readonly lease?: TakenLease | undefined;
};

/** What came of a callback. */
export type Outcome = {
  readonly state: Exclude<CallbackStateName, 'received'>;
  readonly reason: string;
  readonly sessionId?: string | undefined;
};

export type JournalOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly lease: Pick<VerificationLease, 'end'>;
  readonly findSession: FindSession;
  /** Callbacks that a session keeps in full. */
  readonly limit: number;
  readonly count: CountCallback;
};

export type Journal = {
  /**
   * Commits the callback, then resolves. If the caller does not process it, stray-callbacks.ts does. With `asking` the
   * lease of its session is taken in the same commit, if it may be. Resolves with undefined if the session keeps as many
   * callbacks as it may: then it is counted, and nothing is left to be done.
   */
  append(
    callback: ReceivedCallback,
    claim: CallbackClaim,
    asking: boolean,
  ): Promise<JournaledCallback | undefined>;
  read(id: string): Promise<JournaledCallback | undefined>;
  /** Notes an attempt that came to nothing for a reason of the hub's own. */
  postpone(id: string, reason: string): Promise<void>;
  /** Notes what came of it, outside of a settlement. */
  finish(id: string, outcome: Outcome): Promise<void>;
};

const BATCHES = { maxSize: 128, maxInFlight: 2 };

export function createJournal(options: JournalOptions): Journal {
  const { pool, clock, leaseMs, lease, findSession, limit, count } = options;
  const append = createBatcher<Appending, Appended>({
    ...BATCHES,
    run: (each) => appendCallbacks(pool, each, { at: clock(), leaseMs, limit, endLeases: lease.end }),
  });
  const finish = createBatcher<Finished, void>({
    ...BATCHES,
    run: async (finished) => {
      await pool.query({ name: 'finish_each', ...finishing(finished, clock(), `, ${UNHURRIED}`) });
      return finished.map(() => undefined);
    },
  });
  return {
    async append(callback, claim, asking) {
      const id = newUuid();
      const { kept, session, lease } = await append({ id, callback, claim, asks: asking });
      // One that was found by another id is looked for again, so that what is said of the callback names that id.
      const isClaimed = session !== undefined && session.id === claimedSession(callback);
      const received = { ...callback, claimedSession: isClaimed ? session : undefined };
      if (!kept && session !== undefined) {
        const { kind } = await resolveSession(findSession, received, claim);
        const asks = kind === 'session' && claim.outcome !== 'ignored';
        const state = kind === 'session' ? 'ignored' : 'mismatch';
        const names = mayBePaid(claim) ? otherPaymentOf(claim, session) : undefined;
        await count({ sessionId: session.id, state, asks, names: asks ? names : undefined });
        return undefined;
      }
      return { ...received, id, state: 'received', triedSince: undefined, waits: false, lease };
    },

    async read(id) {
      const { rows } = await pool.query({
        name: 'read_callback',
        text: `select gateway, claimed_session_id as "claimedSessionId", fields, state,
                      (extract(epoch from tried_since) * 1000)::float8 as "triedSinceMs",
                      state = 'received' and session_id is not null and tried_since is not null as waits
               from callback where id = $1`,
        values: [id],
      });
      const [row] = rows;
      if (row === undefined) return undefined;
      const { triedSinceMs, claimedSessionId, ...rest } = row;
      return {
        ...rest,
        id,
        claimedSessionId: claimedSessionId ?? undefined,
        triedSince: triedSinceMs === null ? undefined : new Date(triedSinceMs),
      };
    },

    async postpone(id, reason) {
      await pool.query({
        name: 'postpone_callback',
        text: `update callback set attempts = attempts + 1, reason = $2, tried_since = coalesce(tried_since, $3)
               where id = $1 and state = 'received'`,
        values: [id, reason, clock()],
      });
    },

    finish: (id, outcome) => finish({ id, ...outcome }),
  };
}

function mayBePaid({ outcome }: CallbackClaim): boolean {
  return outcome === 'paid' || outcome === 'unknown';
}

/** The payment that a callback names, unless it is the session's own checkout. */
function otherPaymentOf(
  { validationId, providerPaymentId }: CallbackClaim,
  session: SessionFacts,
): NamedPayment | undefined {
  const checkout = providerPaymentId === session.providerPaymentId ? undefined : providerPaymentId;
  if (!validationId && !checkout) return undefined;
  return { gateway: session.gateway, payment: validationId || undefined, checkout: checkout || undefined };
}

export type Finished = Outcome & { readonly id: string };

/** Notes what came of each, and of what is selected besides. What is settled stays settled. */
export function finishing(finished: readonly Finished[], at: Date, besides = ''): Write {
  return {
    // callback_pkey; the ids themselves tell the months to look into before any is opened
    text: `update callback c
           set state = t.state, reason = t.reason, session_id = coalesce(t.session_id, c.session_id), finished_at = $5,
               attempts = attempts + 1
           from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) as t (id, state, reason, session_id)${besides}
           where c.id = t.id and c.id = any($1) and c.state <> 'settled'`,
    values: [
      finished.map(({ id }) => id),
      finished.map(({ state }) => state),
      finished.map(({ reason }) => reason),
      finished.map(({ sessionId }) => sessionId ?? null),
      at,
    ],
  };
}

/** Notes what came of callbacks, the same of all, in whatever transaction `db` is in; of how many it did. */
export async function finishCallbacks(
  db: Pool | PoolClient,
  ids: readonly string[],
  outcome: Outcome,
  at: Date,
): Promise<number> {
  if (ids.length === 0) return 0;
  const finished = ids.map((id) => ({ id, ...outcome }));
  const { rowCount } = await db.query({ name: 'finish_callbacks', ...finishing(finished, at) });
  return rowCount ?? 0;
}
