// Parses a calendar period: `1y`, `6m`, `30d`, `1y6m`.
import { InvalidArgumentError } from 'commander';
import type { CalendarPeriod } from '../../lib/presentation/calendar.ts';

/** @throws InvalidArgumentError if the text is not a period, or an empty one */
export function parsePeriod(text: string): CalendarPeriod {
  const parts = /^(?:(\d{1,3})y)?(?:(\d{1,4})m)?(?:(\d{1,5})d)?$/.exec(text);
  const [years = 0, months = 0, days = 0] = (parts ?? []).slice(1).map((part) => Number(part ?? 0));
  if (years + months + days > 0) return { years, months, days };
  throw new InvalidArgumentError('Give years, months and days: 1y, 6m, 30d or 1y6m.');
}
