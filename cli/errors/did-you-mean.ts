// Suggests a similar name for a mistyped word.
import { closestMatch } from 'leven';

/** The share of letters that must match, and the most that may differ. */
const share = (word: string): number => Math.max(1, Math.min(3, Math.floor(word.length * 0.59)));

/** ` Did you mean main?`, or an empty string without a similar name. */
export function didYouMean(word: string, names: readonly string[]): string {
  const closest = closestMatch(word, names, { maxDistance: share(word) });
  return closest === undefined ? '' : ` Did you mean ${closest}?`;
}
