// Lists, whose filters, time range and page are in the address.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Live, useLive } from './live.ts';
import { type Route, useRoute } from './route.ts';

export type ListOptions<P> = {
  readonly everyMs: number;
  /** What the list depends on besides the address. */
  readonly scope?: readonly (string | undefined)[];
  /** The default time range, for a list that has one. */
  readonly span?: string;
  readonly load: (list: ListQuery, options: { readonly signal: AbortSignal }) => Promise<P>;
};

type ListQuery = {
  readonly query: Route['query'];
  readonly pageToken: string;
  /** The start of the time range; undefined for any time. */
  readonly from: Timestamp | undefined;
};

/** Polls the page of the list that the address names. `since` belongs into the addresses of later pages. */
export function useList<P>({ everyMs, scope = [], span = 'all', load }: ListOptions<P>) {
  const { query } = useRoute();
  const live: Live<P & { readonly since: string }> = useLive(
    JSON.stringify([query, ...scope]),
    everyMs,
    async (signal) => {
      const from = rangeStart(query['span'] ?? span, query['since']);
      const page = await load({ query, pageToken: query['after'] ?? '', from }, { signal });
      return { since: sinceOf(from), ...page };
    },
  );
  return live;
}

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
function sinceOf(begin: Timestamp | undefined): string {
  return begin ? timestampDate(begin).toISOString() : '';
}
