// Parses a calendar period: `1y`, `6m`, `2w`, `30d`, `1y6m`.
import { InvalidArgumentError } from 'commander';
import type { CalendarPeriod } from '../../lib/presentation/calendar.ts';

/** Undefined if the text is not a period, or an empty one. */
export function readPeriod(text: string): CalendarPeriod | undefined {
  const parts = /^(?:(\d{1,3})y)?(?:(\d{1,4})m)?(?:(\d{1,4})w)?(?:(\d{1,5})d)?$/.exec(text) ?? [];
  const [years = 0, months = 0, weeks = 0, days = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  return years + months + weeks + days > 0 ? { years, months, days: weeks * 7 + days } : undefined;
}

/** @throws InvalidArgumentError if the text is not a period, or an empty one */
export function parsePeriod(text: string): CalendarPeriod {
  const period = readPeriod(text);
  if (period !== undefined) return period;
  throw new InvalidArgumentError('Give years, months, weeks or days: 1y, 6m, 2w, 30d or 1y6m.');
}
