// The time that all hubs of a database go by: the database's, carried on in between by this process's monotonic clock.
//
// What one hub schedules another finds due, and what one wrote is not older for another: a hub whose own clock is an
// hour off neither starves callbacks nor takes what another works on.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';

export type SharedClock = {
  readonly now: Clock;
  /** By how many milliseconds this machine's clock is ahead of the database's. */
  aheadMs(): number;
  stop(): void;
};

export type SharedClockOptions = { readonly pool: Pool; readonly logger: Logger };

/** The two clocks drift apart by less than a tenth of a second in a minute. */
const EVERY_MS = 10_000;
/** Smaller differences are left alone, so that the time does not step back and forth. */
const TOLERANCE_MS = 100;
/** From here on the operator is told. */
const NOTABLE_MS = 60_000;

/** Rejects if the database does not answer; once it has started, the last known time goes on while it does not. */
export async function startSharedClock({ pool, logger }: SharedClockOptions): Promise<SharedClock> {
  let { originMs } = await readOrigin(pool);
  const now: Clock = () => new Date(originMs + performance.now());

  const aheadMs = (): number => Date.now() - now().getTime();
  const warn = (): void => {
    if (Math.abs(aheadMs()) < NOTABLE_MS) return;
    const seconds = Math.round(aheadMs() / 1000);
    logger.warn({ seconds }, "this machine's clock is ahead of the database's, which the hub goes by");
  };
  const synchronize = async (): Promise<void> => {
    const read = await readOrigin(pool);
    if (Math.abs(read.originMs - originMs) <= read.doubtMs + TOLERANCE_MS) return;
    originMs = read.originMs;
    warn();
  };
  warn();

  let looking = false;
  const timer = setInterval(async () => {
    if (looking) return; // one that hangs is not asked by more and more
    looking = true;
    await synchronize().catch(() => {}); // others tell that the database is away
    looking = false;
  }, EVERY_MS);
  timer.unref();
  return { now, aheadMs, stop: () => clearInterval(timer) };
}

/** The database's time at the zero of the monotonic clock, in milliseconds, and how much it may be wrong. */
async function readOrigin(pool: Pool): Promise<{ originMs: number; doubtMs: number }> {
  const asked = performance.now();
  const { rows } = await pool.query<{ ms: number }>({
    name: 'database_time',
    text: 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  });
  const answered = performance.now();
  const [row] = rows;
  if (row === undefined) throw new Error('the database did not tell the time');
  return { originMs: row.ms - (asked + answered) / 2, doubtMs: (answered - asked) / 2 };
}
