// The words for the numbered choices of the contract, as hubctl and the console say them.

/** What a charge session is. */
export const CHARGE_STATUSES = { pending: 1, success: 2, failed: 3, cancelled: 4 } as const;

/** What came of a callback. */
export const CALLBACK_STATES = {
  received: 1,
  settled: 2,
  ignored: 3,
  unresolved: 4,
  mismatch: 5,
  dead: 6,
} as const;

/** The word of a number, `unknown` for one that came after this program. */
export function wordFor(words: Readonly<Record<string, number>>, number: number): string {
  return Object.entries(words).find(([, each]) => each === number)?.[0] ?? 'unknown';
}
