// Time ranges that filter lists: the last days up to now, or any time.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';

const DAY_MS = 86_400_000;

export const TIME_RANGES = [
  ['1', 'last day'],
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
  ['all', 'any time'],
] as const;

/**
 * The start of a time range; undefined for any time. Later pages of a list pass the start of its first page as `since`,
 * because the hub accepts a page token only with the filters of the first page.
 */
export function rangeStart(span: string, since = ''): Timestamp | undefined {
  const begun = new Date(since);
  if (!Number.isNaN(begun.getTime())) return timestampFromDate(begun);
  const days = Number(span);
  return Number.isInteger(days) && days > 0
    ? timestampFromDate(new Date(Date.now() - days * DAY_MS))
    : undefined;
}

/** The start as text for the address of a later page. */
export function sinceOf(begin: Timestamp | undefined): string {
  return begin ? timestampDate(begin).toISOString() : '';
}
