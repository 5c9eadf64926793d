// Parses the expiry of a license: a day, a time or a duration.
import { InvalidArgumentError } from 'commander';
import { addDuration } from './parse-duration.ts';
import { parseTime } from './parse-time.ts';

/**
 * Parses `2026-12-31` (valid through the last millisecond of that day in UTC), an RFC 3339 time, or a
 * duration from `now` in days, weeks or years (`30d`, `2w`, `1y`).
 * @throws InvalidArgumentError if it is none of these or not a real date.
 */
export function parseExpiry(text: string, now: Date): Date {
  const time = addDuration(now, text) ?? parseTime(text, '23:59:59.999');
  // RFC 3339 ends at the year 9999.
  if (time === undefined || Number.isNaN(time.getTime()) || time.getUTCFullYear() > 9999) {
    throw new InvalidArgumentError(
      'Give a date (2026-12-31), an RFC 3339 time (2026-12-31T12:00:00Z) or a duration (30d, 2w, 1y).',
    );
  }
  return time;
}
