// Records when machines were last seen. It writes in the background, so that a soft check only reads.
import type { Pool } from 'pg';

export type LastSeen = {
  /** Queues an update, unless the recorded time is less than five minutes old. */
  touch(seatId: string, recordedAtMs: number, now: Date): void;
  /** Writes what is queued, and stops. */
  close(): Promise<void>;
};

export type LastSeenOptions = { readonly pool: Pool; readonly onError: (error: unknown) => void };

const REFRESH_AFTER_MS = 5 * 60 * 1000;
const WRITE_EVERY_MS = 1_000;

export function createLastSeen({ pool, onError }: LastSeenOptions): LastSeen {
  let queued = new Map<string, Date>();

  const write = async (): Promise<void> => {
    if (queued.size === 0) return;
    const batch = queued;
    queued = new Map();
    await pool
      .query({
        name: 'write_last_seen',
        // seat_pkey. In the order of the ids, so that two hubs that write the same seats cannot deadlock.
        text: `update seat s set last_seen_at = t.at
               from (select s.id, t.at from unnest($1::uuid[], $2::timestamptz[]) as t (id, at)
                     join seat s on s.id = t.id
                     where s.last_seen_at < t.at or s.last_seen_at > t.at + interval '5 minutes'
                     order by s.id for no key update of s) as t
               where s.id = t.id`,
        values: [[...batch.keys()], [...batch.values()]],
      })
      // The next check of the machine queues it again.
      .catch(onError);
  };

  const timer = setInterval(() => void write(), WRITE_EVERY_MS);
  timer.unref();

  return {
    touch(seatId, recordedAtMs, now) {
      // A time from a clock that was ahead is replaced as well.
      if (Math.abs(now.getTime() - recordedAtMs) >= REFRESH_AFTER_MS) queued.set(seatId, now);
    },
    async close() {
      clearInterval(timer);
      await write();
    },
  };
}
