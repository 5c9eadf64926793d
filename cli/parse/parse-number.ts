// Parses numbers of the command line: counts, seats and limits. The hub checks their ranges.
import { InvalidArgumentError } from 'commander';

const INT32_MAX = 2_147_483_647;

/** Parses an integer from -2147483647 to 2147483647. */
export function parseInteger(text: string): number {
  return parseWithin(text, -INT32_MAX);
}

/** Parses an integer from 1 to 2147483647. */
export function parseCount(text: string): number {
  return parseWithin(text, 1);
}

/** Parses an integer from 0 to 2147483647. */
export function parseCountOrZero(text: string): number {
  return parseWithin(text, 0);
}

/** Parses the seconds of an interval, from 1 to those of a day. */
export function parseInterval(text: string): number {
  return parseWithin(text, 1, 86_400);
}

function parseWithin(text: string, min: number, max = INT32_MAX): number {
  if (!/^-?\d+$/.test(text)) throw new InvalidArgumentError('Give a whole number.');
  const value = Number(text);
  if (value < min) throw new InvalidArgumentError(`Give a whole number from ${min}.`);
  if (value > max) throw new InvalidArgumentError(`Give a whole number up to ${max}.`);
  return value;
}

/** Requires a non-empty text: an unset variable of a script leaves an empty one. */
export function parseText(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Give a text, or omit the option.');
  return text;
}

/** Parses a TCP port, or 0 for any free one. */
export function parsePort(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= 65_535) return value;
  throw new InvalidArgumentError('Give a whole number from 0 to 65535.');
}

/** Parses a number of seats, at least one, or `unlimited` (-1). */
export function parseSeats(text: string): number {
  if (text === 'unlimited') return -1;
  if (/^\d+$/.test(text) && Number(text) >= 1) return parseInteger(text);
  throw new InvalidArgumentError('Give a whole number from 1, or unlimited.');
}

/**
 * Adds a `name=value` to the limits given so far. The value is an integer or `unlimited` (-1).
 * @throws InvalidArgumentError if the text has another form, or the name was given before.
 */
export function parseLimit(text: string, before: Record<string, bigint> | undefined): Record<string, bigint> {
  const [, name, value] = /^([^=]+)=(-?\d+|unlimited)$/.exec(text) ?? [];
  if (
    name === undefined ||
    value === undefined ||
    !Number.isSafeInteger(value === 'unlimited' ? -1 : Number(value))
  ) {
    throw new InvalidArgumentError('Give name=value; the value is a whole number or unlimited.');
  }
  if (before !== undefined && Object.hasOwn(before, name)) {
    throw new InvalidArgumentError(`The limit ${name} is given twice.`);
  }
  const limits = new Map(Object.entries(before ?? {}));
  limits.set(name, value === 'unlimited' ? -1n : BigInt(value));
  return Object.fromEntries(limits); // defines own members, whatever the name
}

/**
 * Adds a `name=value` to the pairs given so far. The value may be empty and contain equals signs.
 * @throws InvalidArgumentError if the text has another form, or the name was given before.
 */
export function parsePair(text: string, before: Record<string, string> = {}): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('Give name=value.');
  const name = text.slice(0, equals);
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`${name} is given twice.`);
  return Object.fromEntries([...Object.entries(before), [name, text.slice(equals + 1)]]);
}

/**
 * Parses a percentage of at most two decimals into basis points: `1.5` is 150.
 * @throws InvalidArgumentError if it is not a percentage.
 */
export function parsePercent(text: string): number {
  const [, whole, fraction = ''] = /^(\d{1,5})(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  if (whole === undefined) throw new InvalidArgumentError('Give a percentage with at most two decimals: 1.5');
  const hundredths = Number(whole + fraction.padEnd(2, '0'));
  if (hundredths > 10_000) throw new InvalidArgumentError('Give a percentage from 0 to 100.');
  return hundredths;
}
