// Numbers as they are typed on the command line: counts, seats and limits. Ranges are the hub's to check.
import { InvalidArgumentError } from 'commander';

const INT32_MAX = 2_147_483_647;

/** A whole number that fits 32 bits. */
export function parseInteger(text: string): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || Math.abs(value) > INT32_MAX)
    throw new InvalidArgumentError('Give a whole number.');
  return value;
}

/** How many: a whole number from 1. */
export function parseCount(text: string): number {
  const value = parseInteger(text);
  if (value < 1) throw new InvalidArgumentError('Give a whole number from 1.');
  return value;
}

/** A number of seats, or `unlimited` (-1). */
export function parseSeats(text: string): number {
  return text === 'unlimited' ? -1 : parseInteger(text);
}

/**
 * Adds a `name=value` to the limits typed so far; the value is a whole number or `unlimited` (-1).
 *
 * @throws InvalidArgumentError if it is not of that form, or the name was given before.
 */
export function addLimit(text: string, before: Record<string, bigint> | undefined): Record<string, bigint> {
  const [, name, value] = /^([^=]+)=(-?\d+|unlimited)$/.exec(text) ?? [];
  if (
    name === undefined ||
    value === undefined ||
    !Number.isSafeInteger(value === 'unlimited' ? -1 : Number(value))
  ) {
    throw new InvalidArgumentError('Give name=value, the value a whole number or unlimited.');
  }
  if (before !== undefined && Object.hasOwn(before, name)) {
    throw new InvalidArgumentError(`The limit ${name} is given twice.`);
  }
  const limits = new Map(Object.entries(before ?? {}));
  limits.set(name, value === 'unlimited' ? -1n : BigInt(value));
  return Object.fromEntries(limits); // defines own members, whatever the name
}
