// The words for the numbered choices of the contract.

/** The word of a number, `unknown` for one that came after this program. */
export function wordFor(words: Readonly<Record<string, number>>, number: number): string {
  return Object.entries(words).find(([, each]) => each === number)?.[0] ?? 'unknown';
}
