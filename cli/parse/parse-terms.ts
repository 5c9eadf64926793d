// Parses terms of licenses: the lease, names of features and of metadata.
import { InvalidArgumentError } from 'commander';
import { parseInteger } from './parse-number.ts';

/** Parses a number of days from 1, or `none` (0). */
export function parseLeaseDays(text: string): number {
  if (text === 'none') return 0;
  if (/^\d+$/.test(text) && Number(text) >= 1) return parseInteger(text);
  throw new InvalidArgumentError('Give a whole number of days from 1, or none.');
}

/**
 * Adds a name, or several that commas separate, to those given so far.
 * @throws InvalidArgumentError for an empty name, or one given before
 */
export function parseNames(text: string, before: readonly string[] = []): readonly string[] {
  const names = [...before];
  for (const name of text.split(',')) {
    if (name === '') throw new InvalidArgumentError('Give a name, or several that commas separate.');
    if (names.includes(name)) throw new InvalidArgumentError(`${name} is given twice.`);
    names.push(name);
  }
  return names;
}
