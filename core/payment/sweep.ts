// The sweep: asks providers about sessions whose callback never came, or was not the truth.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import type { AskProvider } from './ask-provider.ts';

export type SweepOptions = {
  readonly pool: Pool;
  readonly askProvider: AskProvider;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly schedule: SweepSchedule;
  /** How often the hub looks for sessions that are due. */
  readonly everyMs: number;
  /** How long a session is left to the hub that took it: if that dies, another takes it then. */
  readonly claimMs: number;
};

/** Milliseconds from a session's creation to each check; then the last interval again and again, until `untilMs`. */
export type SweepSchedule = { readonly afterMs: readonly number[]; readonly untilMs: number };

/** Sessions a hub asks about at the same time. */
const AT_ONCE = 16;

/**
 * When to ask next about a session; undefined when it is no longer worth asking. By the session's age alone: callbacks
 * that make the hub ask before the time do not use the schedule up.
 */
export function nextCheck({ afterMs, untilMs }: SweepSchedule, createdAt: Date, now: Date): Date | undefined {
  const ageMs = now.getTime() - createdAt.getTime();
  const lastMs = afterMs.at(-1) ?? untilMs;
  const nextMs = afterMs.find((each) => each > ageMs) ?? lastMs * (Math.floor(ageMs / lastMs) + 1);
  return nextMs > untilMs ? undefined : new Date(createdAt.getTime() + nextMs);
}

export type Sweep = { stop(): Promise<void> };

export function startSweep(options: SweepOptions): Sweep {
  const { pool, askProvider, clock, logger, schedule, everyMs, claimMs } = options;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const check = async (session: Claimed): Promise<void> => {
    const sessionId = formatId('chs', session.id);
    try {
      const asked = await askProvider({ sessionId: session.id });
      await scheduleNext(pool, session, nextCheck(schedule, session.createdAt, clock()));
      logger.info({ sessionId, result: asked.kind }, 'sweep asked about a session');
    } catch (error) {
      logger.error({ sessionId, err: error }, 'sweep could not ask about a session');
    }
  };

  const pass = async (): Promise<void> => {
    try {
      for (let due = await claimDue(pool, clock(), claimMs); due.length > 0 && !stopped; ) {
        await Promise.all(due.map(check));
        due = due.length === AT_ONCE ? await claimDue(pool, clock(), claimMs) : [];
      }
    } catch (error) {
      logger.warn({ err: error }, 'sweep could not look for due sessions');
    }
    if (!stopped) timer = setTimeout(run, everyMs);
  };
  const run = (): void => {
    running = pass();
  };
  run();

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

type Claimed = { readonly id: string; readonly createdAt: Date; readonly claimedUntil: Date };

/** Takes sessions that are due, for a while: a hub that dies before it has asked leaves them to the others. */
async function claimDue(pool: Pool, now: Date, claimMs: number): Promise<Claimed[]> {
  const claimedUntil = new Date(now.getTime() + claimMs);
  const { rows } = await pool.query<{ id: string; createdAtMs: number }>({
    name: 'claim_due_sessions',
    // charge_session_next_check_idx
    text: `update charge_session set checks = checks + 1, next_check_at = $2
           where id in (
             select id from charge_session where next_check_at <= $1
             order by next_check_at limit $3 for update skip locked
           )
           returning id, (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"`,
    values: [now, claimedUntil, AT_ONCE],
  });
  return rows.map(({ id, createdAtMs }) => ({ id, createdAt: new Date(createdAtMs), claimedUntil }));
}

/** Unless somebody else has set another time since: a settlement, a callback, or a hub that took the session over. */
async function scheduleNext(
  pool: Pool,
  { id, claimedUntil }: Claimed,
  next: Date | undefined,
): Promise<void> {
  await pool.query({
    name: 'schedule_check',
    text: 'update charge_session set next_check_at = $3 where id = $1 and next_check_at = $2',
    values: [id, claimedUntil, next ?? null],
  });
}
