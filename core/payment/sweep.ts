// The sweep: asks providers about sessions whose callback waits, never came, or was not the truth.
//
// Each slot has places of its own, so that one whose provider hangs holds up nobody but itself; within a slot it is
// the turn of the session that has been due for longest, and a session has one turn however many callbacks it has.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../metrics/tasks.ts';
import { chores } from '../../tracing/channels.ts';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { inTransaction } from '../storage/transaction.ts';
import type { Asked, AskProvider } from './ask-provider.ts';
import { CHECK_SOON_MS } from './check-soon.ts';
import type { PaymentMeter } from './payment-meter.ts';
import type { createSweepDuplicates } from './sweep-duplicates.ts';

export type SweepOptions = {
  readonly pool: Pool;
  readonly askProvider: AskProvider;
  /** For paid sessions whose callbacks name another payment. */
  readonly sweepDuplicates: ReturnType<typeof createSweepDuplicates>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Pick<PaymentMeter, 'swept'>;
  readonly task: Task;
  readonly schedule: SweepSchedule;
  /** Sessions of one slot that this hub asks about at the same time. */
  readonly atOnce: number;
  /** How often the hub looks for sessions that are due. */
  readonly everyMs: number;
  /** How long a session is left to the hub that took it: if that dies, another takes it then. */
  readonly claimMs: number;
};

/** Milliseconds from a session's creation to each check; then the last interval again and again, until `untilMs`. */
export type SweepSchedule = { readonly afterMs: readonly number[]; readonly untilMs: number };

/** A session is asked about so often at least: its day may have passed while no hub ran, or on a clock that was wrong. */
const LEAST_CHECKS = 4;
/** How far the clocks of hubs may differ. */
const SKEW_MS = 60_000;
/** Sessions of each slot; the next ones have their turn when the sweep looks again. */
const RECALLED_AT_ONCE = 1_000;
/** Until the next question for callbacks that came while somebody asked. */
const BUSY_MS = 1_000;
/** Until the next question for callbacks that were only counted, while the provider does not answer. */
const COUNTED_RETRY_MS = 60_000;
/** After so long the sweep asks no more for callbacks that were only counted. */
const COUNTED_GIVE_UP_MS = 24 * 60 * 60 * 1000;

/**
 * When to ask next about a session; undefined when it is no longer worth asking. By the session's age alone: callbacks
 * that make the hub ask before the time do not use the schedule up.
 */
export function nextCheck({ afterMs, untilMs }: SweepSchedule, createdAt: Date, now: Date): Date | undefined {
  // Created on a clock that was ahead: as if it had been created now.
  const ageMs = Math.max(0, now.getTime() - createdAt.getTime());
  const lastMs = afterMs.at(-1) ?? untilMs;
  const nextMs = afterMs.find((each) => each > ageMs) ?? lastMs * (Math.floor(ageMs / lastMs) + 1);
  return nextMs > untilMs ? undefined : new Date(now.getTime() - ageMs + nextMs);
}

export type Sweep = {
  /** Takes nothing more on, and waits for the questions under way. */
  stop(): Promise<void>;
};

export function startSweep(options: SweepOptions): Sweep {
  const { pool, askProvider, sweepDuplicates, clock, logger, meter, task, schedule } = options;
  const { atOnce, everyMs, claimMs } = options;
  const underWay = new Set<Promise<void>>();
  const bySlot = new Map<string, number>();
  let stopped = false;
  let wake = (): void => {};

  /** The longest time there is between two checks. */
  const longestMs = schedule.afterMs.at(-1) ?? schedule.untilMs;

  const nextAfter = ({ createdAt, claimedAt, checks }: Claimed): Date | undefined => {
    const again = checks < LEAST_CHECKS ? new Date(claimedAt.getTime() + longestMs) : undefined;
    return nextCheck(schedule, createdAt, claimedAt) ?? again;
  };

  const check = async (session: Claimed): Promise<void> => {
    const sessionId = formatId('chs', session.id);
    try {
      const { otherPaymentSince } = session;
      if (otherPaymentSince !== undefined) {
        const result = await sweepDuplicates({ ...session, otherPaymentSince });
        meter.swept(result);
        logger.info({ sessionId, result }, 'sweep asked about further payments of a paid session');
        return;
      }
      const asked = await askProvider({ sessionId: session.id });
      const now = clock();
      // Cut off by the end of this hub, the question is another's to ask at once.
      const isCutOff = stopped && asked.kind === 'unavailable';
      const soonerMs = asked.kind === 'unavailable' ? asked.nextInMs : undefined;
      await scheduleNext(pool, session, {
        regular: isCutOff ? now : nextAfter(session),
        sooner: new Date(now.getTime() + (soonerMs ?? BUSY_MS)),
        whileHeld: new Date(session.claimedAt.getTime() + longestMs),
        counted: countedAfter(asked.kind, session.claimedAt, now),
      });
      meter.swept(asked.kind);
      logger.info({ sessionId, result: asked.kind }, 'sweep asked about a session');
    } catch (error) {
      meter.swept('error');
      logger.error({ sessionId, err: error }, 'sweep could not ask about a session');
    }
  };

  const start = (session: Claimed): void => {
    const { slotId } = session;
    bySlot.set(slotId, (bySlot.get(slotId) ?? 0) + 1);
    const chore = { name: 'sweep', about: () => formatId('chs', session.id) } as const;
    const checking = chores.tracePromise(check, chore, undefined, session).finally(() => {
      underWay.delete(checking);
      const others = (bySlot.get(slotId) ?? 1) - 1;
      if (others === 0) bySlot.delete(slotId);
      else bySlot.set(slotId, others);
      // More of the slot may be due than it had places for.
      if (others === atOnce - 1) wake();
    });
    underWay.add(checking);
  };

  const run = async (): Promise<void> => {
    while (!stopped) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      try {
        const now = clock();
        await recallStrays(pool, now, Math.max(longestMs, claimMs) + SKEW_MS);
        const due = await claimDue(pool, { now, claimMs, atOnce, bySlot });
        due.forEach(start);
        task.succeeded();
      } catch (error) {
        task.failed();
        logger.warn({ err: error }, 'sweep could not look for due sessions');
      }
      const timer = setTimeout(wake, everyMs);
      if (!stopped) await woken.promise;
      clearTimeout(timer);
    }
  };
  const running = run();

  return {
    async stop() {
      stopped = true;
      wake();
      await running;
      await Promise.all(underWay);
    },
  };
}

/** Callbacks that were only counted, and came after `since`, want the provider to be asked again at `at`. */
type AgainForCounted = { readonly since: Date; readonly at: Date };

/** An answer counts for those that came a while before the question: a provider may know of a payment a moment later. */
function countedAfter(kind: Asked['kind'], claimedAt: Date, now: Date): AgainForCounted {
  const isAnswered = kind === 'settled';
  const againInMs = { settled: CHECK_SOON_MS, unavailable: COUNTED_RETRY_MS, busy: BUSY_MS, spent: BUSY_MS }[
    kind
  ];
  return {
    since: new Date(claimedAt.getTime() - (isAnswered ? CHECK_SOON_MS : COUNTED_GIVE_UP_MS)),
    at: new Date(now.getTime() + againInMs),
  };
}

type Claimed = {
  readonly id: string;
  readonly slotId: string;
  readonly createdAt: Date;
  /** How often it was claimed, this time included. */
  readonly checks: number;
  readonly claimedAt: Date;
  readonly claimedUntil: Date;
  /** Of a paid session: when a callback first named another payment. */
  readonly otherPaymentSince: Date | undefined;
};

/** Makes sessions due whose check is further away than any is scheduled: the clock was ahead when it was. */
async function recallStrays(pool: Pool, now: Date, longestMs: number): Promise<void> {
  await pool.query({
    name: 'recall_stray_sessions',
    // charge_session_slot_check_idx, once for each slot; an array, so that what is found is looked up by its id
    text: `update charge_session set next_check_at = $1
           where id = any(array(
             select stray.id from slot cross join lateral (
               select id from charge_session where slot_id = slot.id and next_check_at > $2
               order by next_check_at desc limit ${RECALLED_AT_ONCE}
             ) as stray
           ))`,
    values: [now, new Date(now.getTime() + longestMs)],
  });
}

type Claim = {
  readonly now: Date;
  readonly claimMs: number;
  readonly atOnce: number;
  /** Questions under way. */
  readonly bySlot: ReadonlyMap<string, number>;
};

/**
 * Takes as many due sessions of each slot as it has free places, for a while: a hub that dies before it has asked
 * leaves them to the others.
 */
async function claimDue(pool: Pool, { now, claimMs, atOnce, bySlot }: Claim): Promise<Claimed[]> {
  const claimedUntil = new Date(now.getTime() + claimMs);
  const { rows } = await pool.query<{
    id: string;
    slotId: string;
    createdAtMs: number;
    checks: number;
    otherPaymentSinceMs: number | null;
  }>({
    name: 'claim_due_sessions',
    // charge_session_slot_check_idx, once for each slot
    text: `update charge_session set checks = checks + 1, next_check_at = $2
           where id = any(array(
             select due.id
             from slot left join unnest($4::uuid[], $5::int[]) as busy (slot_id, questions) on busy.slot_id = slot.id
             cross join lateral (
               select id from charge_session where slot_id = slot.id and next_check_at <= $1
               order by next_check_at limit $3 - coalesce(busy.questions, 0) for update skip locked
             ) as due
           ))
           returning id, slot_id as "slotId", checks, (extract(epoch from created_at) * 1000)::float8 as "createdAtMs",
             case when status = 'success' then (extract(epoch from other_payment_since) * 1000)::float8 end
               as "otherPaymentSinceMs"`,
    values: [now, claimedUntil, atOnce, [...bySlot.keys()], [...bySlot.values()]],
  });
  return rows.map(({ createdAtMs, otherPaymentSinceMs, ...claimed }) => ({
    ...claimed,
    otherPaymentSince: otherPaymentSinceMs === null ? undefined : new Date(otherPaymentSinceMs),
    claimedAt: now,
    createdAt: new Date(createdAtMs),
    claimedUntil,
  }));
}

/**
 * Unless somebody else has set another time since: a settlement, a callback, or a hub that took the session over.
 * Callbacks that wait for an answer nevertheless came while the question was asked, or it was in vain: for them
 * `sooner` counts, and `counted` for those that were only counted, but no more questions are asked than callbacks may cause.
 * A session that is held for review is asked about at `whileHeld` once its day is over, until it is released.
 */
async function scheduleNext(
  pool: Pool,
  { id, claimedUntil }: Claimed,
  {
    regular,
    sooner,
    whileHeld,
    counted,
  }: {
    readonly regular: Date | undefined;
    readonly sooner: Date;
    readonly whileHeld: Date;
    readonly counted: AgainForCounted;
  },
): Promise<void> {
  await inTransaction(pool, async (client) => {
    // First the lock, so that the second statement sees what was left waiting before.
    await client.query('select from charge_session where id = $1 for no key update', [id]);
    await client.query({
      name: 'schedule_check',
      // callback_waiting_idx, callback_count_pkey
      text: `update charge_session c
             set next_check_at = case
               when exists (select from callback where session_id = c.id and state = 'received')
               then least($3, greatest($4, question_after))
               when exists (select from callback_count k where k.session_id = c.id and k.asked_for_at > $6)
               then least($3, greatest($7, question_after))
               when held_at is not null then coalesce($3, $5) else $3 end
             where id = $1 and next_check_at = $2`,
      values: [id, claimedUntil, regular ?? null, sooner, whileHeld, counted.since, counted.at],
    });
  });
}
