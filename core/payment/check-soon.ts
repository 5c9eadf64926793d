// Brings the sweep's next question about a session forward.
import type { Pool, PoolClient } from 'pg';

/** Long enough for what a provider knows a moment after its callback, and did not know yet. */
export const CHECK_SOON_MS = 15_000;

/** The sweep asks at `at`, unless it does before, or the session is paid. Writes nothing if nothing is to change. */
export async function checkBy(db: Pool | PoolClient, sessionId: string, at: Date): Promise<void> {
  await db.query({
    name: 'check_soon',
    text: `update charge_session set next_check_at = $2
           where id = $1 and status <> 'success' and (next_check_at is null or next_check_at > $2)`,
    values: [sessionId, at],
  });
}
