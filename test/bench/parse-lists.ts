// Parses lists of the command line, with commas between their elements.
import { parseCount } from '../../cli/parse/parse-number.ts';

export function parseList(text: string): string[] {
  return text.split(',');
}

export function parseCounts(text: string): number[] {
  return text.split(',').map(parseCount);
}
