// Calendar periods as hubctl and the console show them, and the time after one.
import { counted } from './counted.ts';

export const DAY_MS = 86_400_000;

/** Each part is 0 or more, and one of them is not 0. */
export type CalendarPeriod = { readonly years: number; readonly months: number; readonly days: number };

/** The time a period after `from`, in calendar months and years of UTC: a month after 31 January is 28 February. */
export function addPeriod(from: Date, { years, months, days }: CalendarPeriod): Date {
  const first = new Date(from);
  // The first of the month: otherwise a month without this day would run into the next one.
  first.setUTCDate(1);
  first.setUTCMonth(first.getUTCMonth() + years * 12 + months);
  const lastDay = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(from.getUTCDate(), lastDay));
  first.setUTCDate(first.getUTCDate() + days);
  return first;
}

/** `1 year`, `1 year and 6 months`, `30 days` */
export function periodText({ years, months, days }: CalendarPeriod): string {
  const part = (count: number, unit: string) => (count === 0 ? [] : [counted(count, unit)]);
  const parts = [...part(years, 'year'), ...part(months, 'month'), ...part(days, 'day')];
  const last = parts.pop() ?? 'no time';
  return parts.length > 0 ? `${parts.join(', ')} and ${last}` : last;
}
