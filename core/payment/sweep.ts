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

export function startSweep({ pool, askProvider, clock, logger, schedule, everyMs }: SweepOptions): Sweep {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  const check = async (sessionId: string): Promise<void> => {
    try {
      const asked = await askProvider({ sessionId });
      logger.info(
        { sessionId: formatId('chs', sessionId), result: asked.kind },
        'sweep asked about a session',
      );
    } catch (error) {
      logger.error(
        { sessionId: formatId('chs', sessionId), err: error },
        'sweep could not ask about a session',
      );
    }
  };

  const pass = async (): Promise<void> => {
    try {
      for (let due = await claimDue(pool, schedule, clock()); due.length > 0 && !stopped; ) {
        await Promise.all(due.map(check));
        due = due.length === AT_ONCE ? await claimDue(pool, schedule, clock()) : [];
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

/**
 * Takes sessions that are due and sets when each is due next, so that no other hub takes them now, and so that they
 * come again should this hub die.
 */
async function claimDue(pool: Pool, schedule: SweepSchedule, now: Date): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; createdAtMs: number }>({
    name: 'claim_due_sessions',
    // charge_session_next_check_idx. Due again in a minute at the earliest, until the next statement says when.
    text: `update charge_session set checks = checks + 1, next_check_at = $1::timestamptz + interval '1 minute'
           where id in (
             select id from charge_session where next_check_at <= $1
             order by next_check_at limit $2 for update skip locked
           )
           returning id, (extract(epoch from created_at) * 1000)::float8 as "createdAtMs"`,
    values: [now, AT_ONCE],
  });
  if (rows.length === 0) return [];
  const next = rows.map((row) => nextCheck(schedule, new Date(row.createdAtMs), now) ?? null);
  await pool.query({
    name: 'schedule_checks',
    text: `update charge_session c set next_check_at = t.next
           from unnest($1::uuid[], $2::timestamptz[]) as t (id, next)
           where c.id = t.id and c.next_check_at is not null`,
    values: [rows.map((row) => row.id), next],
  });
  return rows.map((row) => row.id);
}
