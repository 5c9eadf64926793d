// The types of settings. Each parses its text, or throws an Error that describes a valid value.
import { parseConnectionString } from '../../core/storage/connection/connection-string.ts';
import { messageOf } from '../../lib/caught-error.ts';

export function text(value: string): string {
  if (value.trim() === '') throw new Error('must not be empty');
  return value;
}

/** One word of printable ASCII, as a header requires. The message does not contain it. */
export function token(value: string): string {
  const word = value.trim();
  if (/^[\x21-\x7e]+$/.test(word)) return word;
  throw new Error('must be one line without spaces');
}

export function integer(from: number, to: number): (value: string) => number {
  return (value) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= from && number <= to) return number;
    throw new Error(`must be a whole number from ${from} to ${to}, not ${JSON.stringify(value)}`);
  };
}

export function autoOr<T>(parse: (value: string) => T): (value: string) => T | 'auto' {
  return (value) => {
    if (value === 'auto') return 'auto';
    try {
      return parse(value);
    } catch (error) {
      throw new Error(messageOf(error).replace(/^must be /, 'must be auto, or '));
    }
  };
}

/** One of these words; the error lists them. */
export function oneOf<T extends string>(
  ...words: T[]
): ((value: string) => T) & { readonly words: readonly T[] } {
  const parse = (value: string): T => {
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    throw new Error(`must be one of ${words.join(', ')}, not ${JSON.stringify(value)}`);
  };
  return Object.assign(parse, { words });
}

export function onOrOff(value: string): boolean {
  return oneOf('on', 'off')(value) === 'on';
}

export function zeroOrOne(value: string): boolean {
  return oneOf('0', '1')(value) === '1';
}

/** The value may contain a password, so messages do not repeat it. */
export function url(...protocols: string[]): (value: string) => string {
  return (value) => {
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    throw new Error(
      `must be an address that starts with ${protocols.map((each) => `${each}//`).join(' or ')}`,
    );
  };
}

/** As in libpq; must name a database. */
export function databaseUrl(value: string): string {
  parseConnectionString(value);
  return value;
}

/**
 * The longest prefix of a callback address that a provider accepts with the path and session id: 255
 * characters in all.
 */
const MAX_PUBLIC_URL_CHARACTERS = 180;

export function publicUrl(value: string): string {
  const address = url('http:', 'https:')(value);
  if (address.length > MAX_PUBLIC_URL_CHARACTERS) {
    throw new Error(
      `must be at most ${MAX_PUBLIC_URL_CHARACTERS} characters: providers limit callback addresses`,
    );
  }
  if (/[?#]/.test(address))
    throw new Error('must not have a query or a fragment: the hub adds a path of its own');
  return address;
}

/** `120,600,3600`: ascending whole seconds, as milliseconds. */
export function risingSeconds(value: string): number[] {
  const seconds = value.split(',').map((item) => (/^\d{1,6}$/.test(item.trim()) ? Number(item) : Number.NaN));
  const rises = seconds.every((item, index) => item > (seconds[index - 1] ?? 0));
  if (rises) return seconds.map((item) => item * 1000);
  throw new Error(
    `must be ascending whole seconds separated by commas, such as 120,600,3600, not ${JSON.stringify(value)}`,
  );
}
