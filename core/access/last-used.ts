// Records when tokens were last used, in the background and to the minute.
import type { Pool } from 'pg';

export type LastUsed = ReturnType<typeof createLastUsed>;

export type LastUsedOptions = { readonly pool: Pool; readonly onError: (error: unknown) => void };

const REFRESH_AFTER_MS = 60_000;

export function createLastUsed({ pool, onError }: LastUsedOptions) {
  const pending = new Map<string, Promise<unknown>>();
  return {
    /** Writes the time, unless the recorded one is less than a minute old. */
    touch(tokenId: string, recordedAtMs: number | null, now: Date): void {
      const isRecent = recordedAtMs !== null && now.getTime() - recordedAtMs < REFRESH_AFTER_MS;
      if (isRecent || pending.has(tokenId)) return;
      const written = pool
        .query({
          name: 'write_last_used',
          text: `update service_token set last_used_at = $2
                 where id = $1 and (last_used_at is null or last_used_at < $2)`,
          values: [tokenId, now],
        })
        // The next use of the token writes again.
        .catch(onError)
        .finally(() => pending.delete(tokenId));
      pending.set(tokenId, written);
    },
    /** Waits for pending writes. */
    async close(): Promise<void> {
      await Promise.all(pending.values());
    },
  };
}
