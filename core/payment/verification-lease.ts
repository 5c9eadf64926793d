// One provider call at a time for each session, over all hubs, without holding a database transaction open.
import { setTimeout } from 'node:timers/promises';
import type { Pool, QueryConfig } from 'pg';
import { newUuid } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { UNHURRIED } from '../storage/unhurried.ts';
import { type ProviderHttp, ProviderUnavailable } from './provider.ts';
import { MAY_ASK, NEXT_QUESTION_AFTER } from './question-budget.ts';
import { readSessionsBy, SESSION_COLUMNS, type SessionFacts } from './session-facts.ts';

export type VerificationLease = {
  /**
   * Runs `work` while this hub alone may call the provider about the session. Returns undefined, without running it,
   * if somebody else still does after `waitMs`, or if too many wait already. The lease of a hub that was killed ends by itself.
   */
  run<T>(sessionId: string, task: LeasedWork<T>): Promise<T | undefined>;
  /** Leases that this process works under now. */
  readonly held: number;
  /** Ends those of these leases that are held. Resolves when the database has been told once; it is told again if need be. */
  end(leases: readonly HeldLease[]): Promise<void>;
};

export type HeldLease = { readonly sessionId: string; readonly holder: string };

/**
 * What a settlement shows of the lease that its answer was asked under. Each taking of the lease gets the next fencing
 * number: a hub that was frozen past its lease comes with an older one, and settles nothing.
 */
export type Fence = { readonly holder: string; readonly fencingNumber: number };

export type LeasedWork<T> = {
  readonly work: (lease: Lease) => Promise<T>;
  readonly waitMs: number;
  /** Asked while waiting: the result, if what the others did leaves nothing to do. */
  readonly inVain: () => Promise<T | undefined>;
  /** If the lease is held already. */
  readonly taken?: TakenLease | undefined;
  /** A callback causes it: it is counted as a question about the session, and waits until one is allowed, or in vain. */
  readonly budgeted?: boolean;
};

/** A lease that was taken along with something else. If it is not run it ends by itself. */
export type TakenLease = {
  readonly holder: string;
  readonly session: SessionFacts;
  /** When it was asked for, by `performance.now()`. */
  readonly begun: number;
};

export type Lease = {
  /** As it is under the lease: whoever held it before may have settled it. */
  readonly session: SessionFacts;
  /** For the settlement, which ends the lease in its own transaction; `ended` is told then. */
  readonly fence: Fence;
  ended(): void;
  /** HTTP that ends with the lease: what a provider is asked after it might be asked by another hub as well. */
  within(http: ProviderHttp): ProviderHttp;
};

export type LeaseOptions = {
  readonly pool: Pool;
  /** Longer than all provider calls of one verification usually take together. */
  readonly leaseMs: number;
};

const POLL_MS = 100;
/** Callbacks of one session that wait in this process; more of them at the same time no provider sends. */
const MAX_WAITING = 64;
/** From the end of a call to the end of its lease. */
const MARGIN_MS = 500;
/** How often a database that was away is told again that a lease has ended. */
const TELL_AGAIN_MS = 500;

const END = 'update charge_session c set verifying_by = null, verifying_until = null';

export function createVerificationLease({ pool, leaseMs }: LeaseOptions): VerificationLease {
  const takeTogether = createBatcher<Taking, SessionFacts | undefined>({
    maxSize: 64,
    maxInFlight: 2,
    run: (asked) => takeLeases(pool, asked, leaseMs),
  });

  const take = async (taking: Taking, isFirstTry: boolean) => {
    const { sessionId, holder } = taking;
    try {
      const session = await takeTogether(taking);
      if (session !== undefined || !isFirstTry) return session;
      // Somebody holds its row just now, perhaps: that is waited for apart from the others, by whoever may not try again.
      const [alone] = await takeLeases(pool, [taking], leaseMs);
      return alone;
    } catch (error) {
      await end([{ sessionId, holder }]); // only the answer may have been lost
      throw error;
    }
  };

  const tellEnd = (leases: readonly HeldLease[]): Promise<boolean> =>
    pool
      .query({
        name: 'end_leases',
        // charge_session_pkey
        text: `${END} from unnest($1::uuid[], $2::uuid[]) as t (id, holder), ${UNHURRIED}
               where c.id = t.id and c.id = any($1) and c.verifying_by = t.holder`,
        values: [leases.map(({ sessionId }) => sessionId), leases.map(({ holder }) => holder)],
      })
      .then(
        () => true,
        () => false,
      );

  /** A database that is away is told behind the caller's back, so that nobody has to wait until the lease runs out. */
  const end = async (leases: readonly HeldLease[]): Promise<void> => {
    if (leases.length > 0 && !(await tellEnd(leases))) void tellEndAgain(leases);
  };

  const tellEndAgain = async (leases: readonly HeldLease[]): Promise<void> => {
    const giveUpAt = performance.now() + leaseMs; // it has run out by itself then
    do await setTimeout(TELL_AGAIN_MS, undefined, { ref: false });
    while (performance.now() < giveUpAt && !(await tellEnd(leases)));
  };

  let held = 0;
  const waiting = new Map<string, number>();
  const pause = async (sessionId: string): Promise<void> => {
    waiting.set(sessionId, waitersOf(sessionId) + 1);
    await setTimeout(POLL_MS);
    waiting.set(sessionId, waitersOf(sessionId) - 1);
    if (waitersOf(sessionId) === 0) waiting.delete(sessionId);
  };
  const waitersOf = (sessionId: string): number => waiting.get(sessionId) ?? 0;

  return {
    async run(sessionId, { work, waitMs, inVain, taken, budgeted = false }) {
      const holder = taken?.holder ?? newUuid();
      const waitUntil = performance.now() + waitMs;
      let begun = taken?.begun ?? performance.now();
      let session = taken?.session;
      for (let isFirstTry = true; session === undefined; isFirstTry = false) {
        session = await take({ sessionId, holder, budgeted }, isFirstTry);
        if (session !== undefined) break;
        const result = await inVain();
        if (result !== undefined || performance.now() >= waitUntil) return result;
        if (waitersOf(sessionId) >= MAX_WAITING) return undefined;
        await pause(sessionId);
        begun = performance.now();
      }
      const leftMs = () => begun + leaseMs - MARGIN_MS - performance.now();
      let isEnded = false;
      const ended = (): void => {
        isEnded = true;
      };
      held += 1;
      try {
        const fence = { holder, fencingNumber: session.fencingNumber };
        return await work({ session, fence, ended, within: (http) => within(http, leftMs) });
      } finally {
        held -= 1;
        if (!isEnded) await end([{ sessionId, holder }]);
      }
    },
    end,
    get held() {
      return held;
    },
  };
}

/** For the transaction that settles what the lease was taken for. */
export function endLease(sessionId: string, holder: string): QueryConfig {
  return {
    name: 'end_lease',
    text: `${END} where id = $1 and verifying_by = $2`,
    values: [sessionId, holder],
  };
}

type Taking = { readonly sessionId: string; readonly holder: string; readonly budgeted: boolean };

/**
 * For each the session, if its lease was taken. Of several, those whose rows somebody holds are left out; a single one
 * waits for its row.
 */
async function takeLeases(
  pool: Pool,
  asked: readonly Taking[],
  leaseMs: number,
): Promise<(SessionFacts | undefined)[]> {
  const values = [
    asked.map(({ sessionId }) => sessionId),
    asked.map(({ holder }) => holder),
    asked.map(({ budgeted }) => budgeted),
    leaseMs,
  ];
  const sessions = await readSessionsBy(
    pool,
    asked.length === 1
      ? { name: 'take_lease', text: takeText(''), values }
      : { name: 'take_leases', text: takeText('skip locked'), values },
  );
  return asked.map(({ holder }) => sessions.get(holder));
}

/** By the database's clock: those of the hubs may differ. */
const IS_FREE = '(verifying_until is null or verifying_until <= now())';

/** Whether a callback may have the lease of the `charge_session c`. */
export const CALLBACK_MAY_LEASE = `${IS_FREE} and c.status <> 'success' and ${MAY_ASK}`;

/**
 * Gives `t.holder` the lease of `charge_session c` for so many milliseconds. On disk before the provider is asked: a lease
 * that the database forgot when it crashed would let another hub ask at the same time.
 */
export function leaseTo(leaseMs: `$${number}`): string {
  return `verifying_by = t.holder, verifying_until = now() + ${leaseMs} * interval '1 millisecond',
    fencing_number = c.fencing_number + 1`;
}

function takeText(lock: '' | 'skip locked'): string {
  // charge_session_pkey; in the order of the ids, so that no two batches wait for each other
  return `with free as materialized (
            select id from charge_session where id = any($1) and ${IS_FREE}
            order by id for no key update ${lock}
          )
          update charge_session c
          set ${leaseTo('$4')}, callback_questions = c.callback_questions + t.budgeted::int,
              question_after = case when t.budgeted then ${NEXT_QUESTION_AFTER} else c.question_after end
          from free f, unnest($1::uuid[], $2::uuid[], $3::boolean[]) as t (session_id, holder, budgeted), slot s
          where c.id = f.id and t.session_id = f.id and s.id = c.slot_id
            and (not t.budgeted or ${CALLBACK_MAY_LEASE})
          returning t.holder as key, ${SESSION_COLUMNS}`;
}

function within(http: ProviderHttp, leftMs: () => number): ProviderHttp {
  return {
    async send(request) {
      const left = Math.floor(leftMs());
      if (left <= 0) throw new ProviderUnavailable('the questions before this one took too long');
      return http.send({ ...request, timeoutMs: Math.min(request.timeoutMs ?? left, left) });
    },
  };
}
