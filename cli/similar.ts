// What was probably meant by a word that nothing is called.
import { closestMatch } from 'leven';

/** Most of a word has to be right, and all but three letters of a long one. */
const share = (word: string): number => Math.max(1, Math.min(3, Math.floor(word.length * 0.59)));

/** ` Did you mean main?`, or nothing if no name is near. */
export function didYouMean(word: string, names: readonly string[]): string {
  const closest = closestMatch(word, names, { maxDistance: share(word) });
  return closest === undefined ? '' : ` Did you mean ${closest}?`;
}
