// Converts between the texts of form fields and the values of requests.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { limitText } from '../components/values.tsx';
import { FieldError } from './form-errors.ts';

/** @throws FieldError if the text is not a whole number */
export function wholeNumber(field: string, text: string): number {
  const number = Number(text.trim());
  if (!/^\d{1,9}$/.test(text.trim())) throw new FieldError(field, 'Enter a whole number.');
  return number;
}

/** `unlimited` is -1. @throws FieldError for other texts that are not a number */
export function seatNumber(field: string, text: string): number {
  if (/^\s*unlimited\s*$/i.test(text)) return -1;
  const number = wholeNumber(field, text);
  if (number === 0) throw new FieldError(field, 'Enter 1 or more, or “unlimited”.');
  return number;
}

/** A `name=value` line for each entry, sorted. Line breaks within a value are written as `\n`. */
export function pairLines(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`)
    .join('\n');
}

/** @throws FieldError if a line is not `name=value`, or a name occurs twice */
export function readPairs(field: string, text: string): Record<string, string> {
  const pairs = new Map<string, string>();
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, name = '', value = ''] = /^\s*([^=\s]+)\s*=(.*)$/.exec(line) ?? [];
    if (name === '') throw new FieldError(field, `Write “${line.trim()}” as name=value.`);
    if (pairs.has(name)) throw new FieldError(field, `“${name}” is there twice.`);
    const unescaped = value.replace(/\\(n|\\)/g, (_, mark: string) => (mark === 'n' ? '\n' : '\\'));
    pairs.set(name, unescaped.trim());
  }
  return Object.fromEntries(pairs);
}

export function limitLines(limits: Readonly<Record<string, bigint>>): string {
  const texts = Object.entries(limits).map(([name, limit]) => [name, limitText(limit)] as const);
  return pairLines(Object.fromEntries(texts));
}

/** @throws FieldError if a value is neither a whole number nor `unlimited` */
export function readLimits(field: string, text: string): Record<string, bigint> {
  const limits = Object.entries(readPairs(field, text)).map(([name, value]): [string, bigint] => {
    if (/^(unlimited|-1)$/i.test(value)) return [name, -1n];
    if (!/^\d{1,16}$/.test(value)) {
      throw new FieldError(field, `The limit “${name}” needs a whole number or “unlimited”.`);
    }
    return [name, BigInt(value)];
  });
  return Object.fromEntries(limits);
}

/** Names that are separated by commas, spaces or line breaks. */
export function readNames(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** `seat_limit` of `seatLimit`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The value of a datetime-local field, in UTC. */
export function timeText(at: Timestamp | undefined): string {
  return at ? timestampDate(at).toISOString().slice(0, 19) : '';
}

/** The time of a datetime-local field in UTC. @throws FieldError if it is no time */
export function readTime(field: string, text: string): Timestamp {
  const date = new Date(`${text}Z`);
  if (text === '' || Number.isNaN(date.getTime())) throw new FieldError(field, 'Enter a date and a time.');
  return timestampFromDate(date);
}
