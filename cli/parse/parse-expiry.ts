// Parses the expiry of a license or token: a day, a time or a period from now.
import { InvalidArgumentError } from 'commander';
import { addPeriod } from '../../lib/presentation/calendar.ts';
import { readPeriod } from './parse-period.ts';
import { parseTime } from './parse-time.ts';

/**
 * Parses what `parseLastDay` does, or a period from `now` such as `1y6m`.
 * @throws InvalidArgumentError if it is none of these or not a real date.
 */
export function parseExpiry(text: string, now: Date): Date {
  const period = readPeriod(text);
  const time = period ? addPeriod(now, period) : parseTime(text, END_OF_DAY);
  return requireTime(time, ', an RFC 3339 time (2026-12-31T12:00:00Z) or a period (30d, 6m, 1y)');
}

/**
 * Parses `2026-12-31` (valid through the last millisecond of that day in UTC) or an RFC 3339 time.
 * @throws InvalidArgumentError if it is neither or not a real date.
 */
export function parseLastDay(text: string): Date {
  return requireTime(parseTime(text, END_OF_DAY), ' or an RFC 3339 time (2026-12-31T12:00:00Z)');
}

const END_OF_DAY = '23:59:59.999';

/** Undefined and times after the year 9999, where RFC 3339 ends, are refused. */
function requireTime(time: Date | undefined, others: string): Date {
  if (time !== undefined && time.getUTCFullYear() <= 9999) return time;
  throw new InvalidArgumentError(`Give a date (2026-12-31)${others}.`);
}
