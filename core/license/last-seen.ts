// Remembers when seats were last heard of, behind the answers: the soft check itself stays a read.
import type { Pool } from 'pg';

export type LastSeen = {
  /** Notes a sign of life, unless the one on record is recent enough. */
  touch(seatId: string, recordedAtMs: number, now: Date): void;
  /** Writes what is noted and stops. */
  close(): Promise<void>;
};

export type LastSeenOptions = { readonly pool: Pool; readonly onError: (error: unknown) => void };

/** A seat's record is refreshed at most this often. */
const REFRESH_AFTER_MS = 5 * 60 * 1000;
const WRITE_EVERY_MS = 1_000;

export function createLastSeen({ pool, onError }: LastSeenOptions): LastSeen {
  let noted = new Map<string, Date>();

  const write = async (): Promise<void> => {
    if (noted.size === 0) return;
    const batch = noted;
    noted = new Map();
    await pool
      .query({
        name: 'write_last_seen',
        // seat_pkey; in the order of the ids, so that two hubs that write the same seats do not deadlock
        text: `update seat s set last_seen_at = t.at
               from (select s.id, t.at from unnest($1::uuid[], $2::timestamptz[]) as t (id, at)
                     join seat s on s.id = t.id where s.last_seen_at < t.at or s.last_seen_at > t.at + interval '5 minutes'
                     order by s.id for no key update of s) as t
               where s.id = t.id`,
        values: [[...batch.keys()], [...batch.values()]],
      })
      // A sign of life that is lost will be followed by another.
      .catch(onError);
  };

  const timer = setInterval(() => void write(), WRITE_EVERY_MS);
  timer.unref();

  return {
    touch(seatId, recordedAtMs, now) {
      // A record from a clock that was ahead is replaced as well.
      if (Math.abs(now.getTime() - recordedAtMs) >= REFRESH_AFTER_MS) noted.set(seatId, now);
    },
    async close() {
      clearInterval(timer);
      await write();
    },
  };
}
