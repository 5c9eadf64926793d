// The schedule of the sweep: when it verifies a session next.

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
