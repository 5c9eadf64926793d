// Spans of time up to now, as lists can be limited to. The hub reads them page by page; all there is it may have to search.
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt';

const DAY_MS = 86_400_000;

export const SPANS = [
  ['1', 'last day'],
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
  ['all', 'any time'],
] as const;

/** Where the span of this name begins; undefined if it has no beginning. */
export function beginOf(span: string): Timestamp | undefined {
  const days = Number(span);
  return Number.isInteger(days) && days > 0
    ? timestampFromDate(new Date(Date.now() - days * DAY_MS))
    : undefined;
}
