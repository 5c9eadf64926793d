// Calendar periods: years, months and days, as PostgreSQL's interval.
import { HubError } from '../errors.ts';

/** Each part is 0 or more, and one of them is not 0. */
export type Period = { readonly years: number; readonly months: number; readonly days: number };

/**
 * The text of an interval, such as `P1Y6M0D` (ISO 8601). @throws HubError `period_invalid` for an empty
 * period
 */
export function formatPeriod({ years, months, days }: Period, field: string): string {
  if (years + months + days > 0) return `P${years}Y${months}M${days}D`;
  throw new HubError('period_invalid', 'a period needs at least one day, month or year', { field });
}

/** Reads an interval: the object that pg makes of it, or its text, such as `1 year 6 mons 10 days`. */
export function parsePeriod(interval: string | Partial<Period>): Period {
  if (typeof interval !== 'string') {
    const { years = 0, months = 0, days = 0 } = interval;
    return { years, months, days };
  }
  const part = (unit: string): number => Number(new RegExp(`(\\d+) ${unit}`).exec(interval)?.[1] ?? 0);
  return { years: part('year'), months: part('mon'), days: part('day') };
}
