// Remembers when tokens were last used, behind the answers and to the minute.
import type { Pool } from 'pg';

export type LastUsed = {
  /** Notes a use, unless the one on record is recent enough. */
  touch(tokenId: string, recordedAtMs: number | null, now: Date): void;
  /** Waits until what is noted is written. */
  close(): Promise<void>;
};

export type LastUsedOptions = { readonly pool: Pool; readonly onError: (error: unknown) => void };

const REFRESH_AFTER_MS = 60_000;

export function createLastUsed({ pool, onError }: LastUsedOptions): LastUsed {
  const underWay = new Map<string, Promise<unknown>>();
  return {
    touch(tokenId, recordedAtMs, now) {
      const isRecent = recordedAtMs !== null && now.getTime() - recordedAtMs < REFRESH_AFTER_MS;
      if (isRecent || underWay.has(tokenId)) return;
      const written = pool
        .query({
          name: 'write_last_used',
          text: `update service_token set last_used_at = $2
                 where id = $1 and (last_used_at is null or last_used_at < $2)`,
          values: [tokenId, now],
        })
        // A use that is lost will be followed by another.
        .catch(onError)
        .finally(() => underWay.delete(tokenId));
      underWay.set(tokenId, written);
    },
    async close() {
      await Promise.all(underWay.values());
    },
  };
}
