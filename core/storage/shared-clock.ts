// The clock that all hubs of a database share: the database's time, continued by the monotonic clock of this
// process. Hubs agree on what is due and on what is older, even if the clock of one machine is wrong.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { epochMs } from './sql/epoch.ts';

export type SharedClockOptions = { readonly pool: Pool; readonly logger: Logger };

/** The two clocks drift apart by less than a tenth of a second in a minute. */
const EVERY_MS = 10_000;
/** Smaller differences are ignored, so that the time does not jump back and forth. */
const TOLERANCE_MS = 100;
/** Larger differences are logged. */
const NOTABLE_MS = 60_000;

/** Rejects if the database does not respond. After the start, the clock continues without it. */
export async function startSharedClock({ pool, logger }: SharedClockOptions) {
  let { originMs } = await readOrigin(pool);
  const now: Clock = () => new Date(originMs + performance.now());

  /** By how many milliseconds this machine's clock is ahead of the database's. */
  const aheadMs = (): number => Date.now() - now().getTime();
  const warn = (): void => {
    if (Math.abs(aheadMs()) < NOTABLE_MS) return;
    const seconds = Math.round(aheadMs() / 1000);
    logger.warn({ seconds }, "this machine's clock is ahead of the database's clock, which the hub uses");
  };
  const synchronize = async (): Promise<void> => {
    const read = await readOrigin(pool);
    if (Math.abs(read.originMs - originMs) <= read.errorMs + TOLERANCE_MS) return;
    originMs = read.originMs;
    warn();
  };
  warn();

  let isSynchronizing = false;
  const timer = setInterval(async () => {
    if (isSynchronizing) return; // the database may hang
    isSynchronizing = true;
    await synchronize().catch(() => {}); // reported elsewhere
    isSynchronizing = false;
  }, EVERY_MS).unref();
  return { now, aheadMs, stop: (): void => clearInterval(timer) };
}

/** The database's time at the zero of the monotonic clock, and its maximum error, in milliseconds. */
async function readOrigin(pool: Pool): Promise<{ originMs: number; errorMs: number }> {
  const sentAt = performance.now();
  const { rows } = await pool.query<{ ms: number }>({
    name: 'database_time',
    text: `select ${epochMs('clock_timestamp()')} as ms`,
  });
  const receivedAt = performance.now();
  const [row] = rows;
  if (row === undefined) throw new Error('the database returned no time');
  return { originMs: row.ms - (sentAt + receivedAt) / 2, errorMs: (receivedAt - sentAt) / 2 };
}
