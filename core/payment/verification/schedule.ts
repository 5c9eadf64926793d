// The schedule of the sweep: when it verifies a session next.
import type { Pool, PoolClient } from 'pg';

/** Milliseconds from a session's creation to each check. The last interval repeats until `untilMs`. */
export type SweepSchedule = { readonly afterMs: readonly number[]; readonly untilMs: number };

/**
 * Returns undefined once the session is too old. Depends on the age of the session alone, so that
 * verifications that callbacks trigger do not use up the schedule.
 */
export function nextCheck({ afterMs, untilMs }: SweepSchedule, createdAt: Date, now: Date): Date | undefined {
  // The clock of another hub may be ahead.
  const ageMs = Math.max(0, now.getTime() - createdAt.getTime());
  const lastMs = afterMs.at(-1) ?? untilMs;
  const nextMs = afterMs.find((each) => each > ageMs) ?? lastMs * (Math.floor(ageMs / lastMs) + 1);
  return nextMs > untilMs ? undefined : new Date(now.getTime() - ageMs + nextMs);
}

/** The longest interval between two checks. */
export function longestInterval({ afterMs, untilMs }: SweepSchedule): number {
  return afterMs.at(-1) ?? untilMs;
}

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
