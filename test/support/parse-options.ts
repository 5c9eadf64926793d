// Parses options of the benchmark, fault and fuzz programs: comma-separated lists, and numbers that may be 0.
import { InvalidArgumentError } from 'commander';
import { parseCount, parseInteger } from '../../cli/parse/parse-number.ts';

export function parseList(text: string): string[] {
  return text.split(',');
}

export function parseCounts(text: string): number[] {
  return text.split(',').map(parseCount);
}

/** Parses an integer from 0. */
export function parseCountOrZero(text: string): number {
  const value = parseInteger(text);
  if (value < 0) throw new InvalidArgumentError('Give a whole number from 0.');
  return value;
}
