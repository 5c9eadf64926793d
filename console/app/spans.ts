// Spans of time up to now, as lists can be limited to. The hub reads them page by page; all there is it may have to search.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';

const DAY_MS = 86_400_000;

export const SPANS = [
  ['1', 'last day'],
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
  ['all', 'any time'],
] as const;

/**
 * Where the span of this name begins; undefined if it has no beginning. The later pages of a list begin where its first
 * one did, at `since`: the hub takes a page token only with the filters that it was made for.
 */
export function beginOf(span: string, since = ''): Timestamp | undefined {
  const begun = new Date(since);
  if (!Number.isNaN(begun.getTime())) return timestampFromDate(begun);
  const days = Number(span);
  return Number.isInteger(days) && days > 0
    ? timestampFromDate(new Date(Date.now() - days * DAY_MS))
    : undefined;
}

/** The same beginning as it stands in the address of a later page. */
export function sinceOf(begin: Timestamp | undefined): string {
  return begin ? timestampDate(begin).toISOString() : '';
}
