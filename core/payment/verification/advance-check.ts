// Advances the sweep's next verification of a session.
import type { Pool, PoolClient } from 'pg';

/** Gives a provider time to finish a payment that it does not report when it sends its callback. */
export const EARLY_CHECK_MS = 15_000;

/** The sweep verifies an unpaid session at `at` at the latest. */
export async function advanceCheck(db: Pool | PoolClient, sessionId: string, at: Date): Promise<void> {
  await db.query({
    name: 'advance_check',
    text: `update charge_session set next_check_at = $2
           where id = $1 and status <> 'success' and (next_check_at is null or next_check_at > $2)`,
    values: [sessionId, at],
  });
}
