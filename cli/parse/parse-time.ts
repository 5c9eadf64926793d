// Parses a day in UTC or an RFC 3339 time.
import { InvalidArgumentError } from 'commander';
import { usageError } from '../errors/failure.ts';

/**
 * Reads `2026-12-31` or an RFC 3339 time; undefined if the text is neither, or no real date.
 *
 * @param timeOfDay What a day alone means, in UTC: `00:00:00` for example.
 */
export function parseTime(text: string, timeOfDay: string): Date | undefined {
  const [, day, clock, zone] =
    /^(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d:\d\d(?:\.\d{1,9})?)([Zz]|[+-]\d\d:\d\d))?$/.exec(text) ?? [];
  if (day === undefined) return undefined;
  // Date.parse would read the 30th of February as the 2nd of March.
  const midnight = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day) return undefined;
  const time = new Date(`${day}T${clock ?? timeOfDay}${zone?.toUpperCase() ?? 'Z'}`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/**
 * Reads a bound of a period; a day alone is its first moment.
 *
 * @throws InvalidArgumentError if it is no time.
 */
export function parseBound(text: string): Date {
  const time = parseTime(text, '00:00:00');
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    'Give a day in UTC (2026-12-31) or an RFC 3339 time (2026-12-31T12:00:00Z).',
  );
}

/** A month as `2026-01`. @throws InvalidArgumentError */
export function parseMonth(text: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return text;
  throw new InvalidArgumentError('Give a month, such as 2026-01.');
}

/** A period that ends before it begins has nothing in it. @throws CliError (usage) */
export function checkPeriod(from: Date | undefined, to: Date | undefined): void {
  if (from === undefined || to === undefined || from < to) return;
  throw usageError('--to: Give a time after --from.');
}

/** The parts of a protobuf Timestamp. */
export function timestampOf(time: Date): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Math.floor(time.getTime() / 1000)), nanos: time.getUTCMilliseconds() * 1_000_000 };
}
