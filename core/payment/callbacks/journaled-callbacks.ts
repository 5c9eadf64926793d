// Journaled callbacks: reads them, and records their failed attempts and outcomes.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../clock.ts';
import { ASYNC_COMMIT } from '../../storage/sql/async-commit.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import type { Write } from '../../storage/sql/transaction.ts';
import type { CallbackStateName } from '../entities.ts';
import type { PaymentMetrics } from '../metrics.ts';
import type { CallbackClaim } from '../providers/driver.ts';
import { parseJournaledClaim } from '../providers/registry.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { Outcome } from '../settlement/finding.ts';
import { type FinishedCallback, finishing } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { TakenVerificationLease } from '../verification/lease.ts';

export type ReceivedCallback = {
  readonly gateway: string;
  /** The `session_id` query parameter, unparsed. */
  readonly claimedSessionId: string | undefined;
  /** The fields that the journal stores. */
  readonly fields: Readonly<Record<string, string>>;
  readonly claim: CallbackClaim;
};

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
  readonly claimedSession?: StoredSession | undefined;
  /** The verification lease of that session, if the journal's commit took it. */
  readonly lease?: TakenVerificationLease | undefined;
};

export type JournaledCallbacks = ReturnType<typeof createJournaledCallbacks>;

/** The journal's reason for callbacks that failed because of an error of the hub. */
export const HUB_FAILED = 'the hub could not process it: see its log';

export function createJournaledCallbacks(pool: Pool, clock: Clock) {
  const finish = createBatcher<FinishedCallback, void>({
    run: async (finished) => {
      await pool.query({
        name: 'finish_each',
        ...givingUp(finishing(finished, clock(), `, ${ASYNC_COMMIT}`)),
      });
      return finished.map(() => undefined);
    },
  });

  return {
    async read(id: string): Promise<JournaledCallback | undefined> {
      const { rows } = await pool.query({
        name: 'read_callback',
        text: `select gateway, claimed_session_id as "claimedSessionId", fields, state,
                      ${epochMs('tried_since')} as "triedSinceMs",
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

    /** Records an attempt that failed because of the hub. */
    async recordFailedAttempt(id: string, reason: string): Promise<void> {
      await pool.query({
        name: 'postpone_callback',
        text: `update callback set attempts = attempts + 1, reason = $2, tried_since = coalesce(tried_since,
               $3)
               where id = $1 and state = 'received'`,
        values: [id, reason, clock()],
      });
    },

    /** Records the outcome without a settlement. */
    finish: (id: string, outcome: Outcome) => finish({ id, ...outcome }),
  };
}

/** The statement of `finishing` that also records an event for each callback that is given up. */
function givingUp({ text, values = [] }: Write): Write {
  return {
    text: `with finished as (${text}), recorded as (
             insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
             select 'callback.dead', array_agg(f.id), array_agg(null::uuid), array_agg(c.slot_id), $5
             from finished f left join charge_session c on c.id = f.session_id where f.state = 'dead'
             having count(*) > 0
           )
           select gateway, state from finished`,
    values,
  };
}

/** Records one outcome for several callbacks. Returns those that changed. */
export async function finishCallbacks(
  db: Pool | PoolClient,
  ids: readonly string[],
  outcome: Outcome,
  at: Date,
): Promise<readonly { readonly gateway: string }[]> {
  if (ids.length === 0) return [];
  const finished = ids.map((id) => ({ id, ...outcome }));
  const { rows } = await db.query({ name: 'finish_several', ...givingUp(finishing(finished, at)) });
  return rows;
}

/** Gives up these callbacks of a session, which have waited too long. */
export async function giveUpCallbacks(
  { pool, clock, metrics }: GiveUpOptions,
  sessionId: string,
  callbacks: readonly Pick<JournaledCallback, 'id' | 'gateway'>[],
  reason: string,
): Promise<void> {
  const ids = callbacks.map(({ id }) => id);
  await finishCallbacks(pool, ids, { state: 'dead', reason: `given up: ${reason}`, sessionId }, clock());
  for (const { gateway } of callbacks) metrics.finished(gateway, 'dead', 1);
}

type GiveUpOptions = Pick<PaymentDependencies, 'pool' | 'clock'> & {
  readonly metrics: Pick<PaymentMetrics, 'finished'>;
};
