// The callback journal: commits what providers send before the hub processes it.
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { newUuid } from '../../ids.ts';
import { ASYNC_COMMIT } from '../../storage/sql/async-commit.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { CallbackStateName } from '../entities.ts';
import type { CallbackClaim } from '../providers/driver.ts';
import type { FindSession, SessionFacts } from '../sessions/read-sessions.ts';
import type { TakenVerificationLease, VerificationLeases } from '../verification/lease.ts';
import { type Appended, appendCallbacks, type Entry } from './append.ts';
import {
  claimedSessionId,
  mayBePaid,
  parseJournaledClaim,
  type ReceivedCallback,
  resolveSession,
} from './claim.ts';
import type { CountCallback, NamedPayment } from './count-unjournaled.ts';
import { type Finished, finishing, type Outcome } from './finish.ts';

export type JournaledCallback = Omit<ReceivedCallback, 'claim'> & {
  readonly id: string;
  readonly state: CallbackStateName;
  /** Undefined if only an older version accepted the fields. */
  readonly claim: CallbackClaim | undefined;
  /** When an attempt first failed, since the last replay. */
  readonly triedSince: Date | undefined;
  /** Whether it waits for the next verification of its session. */
  readonly waits: boolean;
  /** The session named by `session_id`, as of the journal's commit. */
  readonly claimedSession?: SessionFacts | undefined;
  /** The verification lease of that session, if the journal's commit took it. */
  readonly lease?: TakenVerificationLease | undefined;
};

export type JournalOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly leases: Pick<VerificationLeases, 'end'>;
  readonly findSession: FindSession;
  /** The number of callbacks that the journal stores for one session. */
  readonly limit: number;
  readonly count: CountCallback;
};

/**
 * Only `received` callbacks are left to process. `ignored`: journaled in its final state. `counted`: not
 * journaled.
 */
export type JournalResult =
  | { readonly kind: 'received'; readonly callback: JournaledCallback }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'counted' };

export type Journal = {
  /**
   * Commits the callback, or counts it if its session has the limit of journaled callbacks. With `takeLease`
   * the same commit takes the verification lease of the session if it is free. If the caller does not process
   * a received callback, enqueue-strays.ts finds it.
   */
  append(callback: ReceivedCallback, takeLease: boolean): Promise<JournalResult>;
  read(id: string): Promise<JournaledCallback | undefined>;
  /** Records an attempt that failed because of the hub. */
  postpone(id: string, reason: string): Promise<void>;
  /** Records the outcome without a settlement. */
  finish(id: string, outcome: Outcome): Promise<void>;
};

const BATCHES = { maxSize: 128, maxInFlight: 2 };

export function createJournal(options: JournalOptions): Journal {
  const { pool, clock, leaseMs, leases, findSession, limit, count } = options;
  const append = createBatcher<Entry, Appended>({
    ...BATCHES,
    run: (entries) => appendCallbacks(pool, entries, { at: clock(), leaseMs, limit, endLeases: leases.end }),
  });
  const finish = createBatcher<Finished, void>({
    ...BATCHES,
    run: async (finished) => {
      await pool.query({ name: 'finish_each', ...finishing(finished, clock(), `, ${ASYNC_COMMIT}`) });
      return finished.map(() => undefined);
    },
  });

  return {
    async append(callback, takeLease) {
      const id = newUuid();
      const { result, session, lease } = await append({ id, callback, takeLease });
      if (result === 'ignored') return { kind: 'ignored' };
      // A session found by another id is resolved again, so that the reason names that id.
      const isClaimed = session !== undefined && session.id === claimedSessionId(callback);
      const received = { ...callback, claimedSession: isClaimed ? session : undefined };
      if (result === 'full' && session !== undefined) {
        // A statement of its own: counting locks the flooded session's count, and no journal commit may wait
        // for it.
        const { kind } = await resolveSession(findSession, received, callback.claim);
        await count(countedCallback(callback.claim, session, kind === 'session'));
        return { kind: 'counted' };
      }
      return {
        kind: 'received',
        callback: { ...received, id, state: 'received', triedSince: undefined, waits: false, lease },
      };
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
        claim: parseJournaledClaim(rest.gateway, rest.fields),
        triedSince: triedSinceMs === null ? undefined : new Date(triedSinceMs),
      };
    },

    async postpone(id, reason) {
      await pool.query({
        name: 'postpone_callback',
        text: `update callback set attempts = attempts + 1, reason = $2, tried_since = coalesce(tried_since,
               $3)
               where id = $1 and state = 'received'`,
        values: [id, reason, clock()],
      });
    },

    finish: (id, outcome) => finish({ id, ...outcome }),
  };
}

function countedCallback(claim: CallbackClaim, session: SessionFacts, isResolved: boolean) {
  const sessionId = session.id;
  if (!isResolved) return { sessionId, state: 'mismatch', asks: false } as const;
  const names = mayBePaid(claim) ? otherPaymentOf(claim, session) : undefined;
  return { sessionId, state: 'ignored', asks: claim.outcome !== 'ignored', names } as const;
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
