// Records when machines were last seen, and on which day their license was last used. It writes in the
// background, at most once a second, so that no request waits for it. A hub that crashes loses what it has
// not written.
import type { Pool } from 'pg';
import { DAY_MS } from '../../clock.ts';
import { shareNextRun } from '../../share-next-run.ts';
import { columns } from '../../storage/sql/transaction.ts';

export type LastSeen = ReturnType<typeof createLastSeen>;

export type LastSeenOptions = { readonly pool: Pool; readonly onError: (error: unknown) => void };

const REFRESH_AFTER_MS = 5 * 60 * 1000;
/** A delay, so that the hub sends the response first. */
const WRITE_DELAY_MS = 20;
const MIN_INTERVAL_MS = 1_000;
/** Between two statements, other requests run. A seat stays locked for one statement only. */
const MAX_SEATS_PER_STATEMENT = 250;

type Use = { readonly seatId: string; readonly at: Date; readonly isNew: boolean };

export function createLastSeen({ pool, onError }: LastSeenOptions) {
  let queued = new Map<string, Use>();
  let timer: NodeJS.Timeout | undefined;
  let writeStartedMs = -Infinity;

  /** One write at a time, so that a slow database keeps at most one connection busy. */
  const write = shareNextRun<void>(async () => {
    if (queued.size === 0) return;
    writeStartedMs = performance.now();
    const uses = [...queued.values()];
    queued = new Map();
    try {
      for (let first = 0; first < uses.length; first += MAX_SEATS_PER_STATEMENT) {
        await writeUses(pool, uses.slice(first, first + MAX_SEATS_PER_STATEMENT));
      }
    } catch (error) {
      onError(error); // a later check of the machine queues it again
    }
  });

  const writeQueued = (): void => {
    timer = undefined;
    void write();
  };

  return {
    /**
     * Queues an update, unless the recorded time is less than five minutes old and of the same day in UTC.
     * `recordedAtMs` is null for a new seat: the insert has set the time, and only the day of the license is
     * left to write.
     */
    touch(seatId: string, recordedAtMs: number | null, now: Date): void {
      if (recordedAtMs !== null && isCurrent(recordedAtMs, now.getTime())) return;
      queued.set(seatId, { seatId, at: now, isNew: recordedAtMs === null });
      const waitMs = writeStartedMs + MIN_INTERVAL_MS - performance.now();
      timer ??= setTimeout(writeQueued, Math.max(WRITE_DELAY_MS, waitMs)).unref();
    },
    /** Waits for a write in progress, and writes the rest. */
    close(): Promise<void> {
      clearTimeout(timer);
      return write();
    },
  };
}

async function writeUses(pool: Pool, uses: readonly Use[]): Promise<void> {
  const known = uses.filter(({ isNew }) => !isNew);
  if (known.length > 0) await pool.query({ ...WRITE_LAST_SEEN, values: columns(known, 'seatId', 'at') });
  await pool.query({ ...WRITE_LAST_ACTIVE, values: columns(uses, 'seatId', 'at') });
}

/** A time from a clock that was ahead is not current. */
function isCurrent(recordedAtMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - recordedAtMs) < REFRESH_AFTER_MS && dayOf(nowMs) === dayOf(recordedAtMs);
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

const WRITE_LAST_SEEN = {
  name: 'write_last_seen',
  // seat_pkey. In the order of the ids, so that two hubs that write the same seats cannot deadlock.
  text: `update seat s set last_seen_at = t.at
         from (select s.id, t.at from unnest($1::uuid[], $2::timestamptz[]) as t (id, at)
               join seat s on s.id = t.id
               where s.last_seen_at < t.at or s.last_seen_at > t.at + interval '5 minutes'
               order by s.id for no key update of s) as t
         where s.id = t.id`,
};

const WRITE_LAST_ACTIVE = {
  name: 'write_last_active',
  // seat_pkey, license_activity_pkey. Writes once a day for each license, also in the order of the ids.
  text: `update license_activity a set last_active_on = t.day
         from (select a.license_id, t.day
               from (select s.license_id, max((t.at at time zone 'UTC')::date) as day
                     from unnest($1::uuid[], $2::timestamptz[]) as t (id, at) join seat s on s.id = t.id
                     group by s.license_id) as t
               join license_activity a on a.license_id = t.license_id
               where a.last_active_on is null or a.last_active_on < t.day
               order by a.license_id for no key update of a) as t
         where a.license_id = t.license_id`,
};
