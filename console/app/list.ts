// Lists, whose filters, time range and page are in the address.
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { type Live, useLive } from './live.ts';
import { type Route, useRoute } from './route.ts';
import { rangeStart, sinceOf } from './time-ranges.ts';

export type ListOptions<P> = {
  readonly everyMs: number;
  /** What the list depends on besides the address. */
  readonly scope?: readonly (string | undefined)[];
  /** The default time range, for a list that has one. */
  readonly span?: string;
  readonly load: (asked: Asked, options: { readonly signal: AbortSignal }) => Promise<P>;
};

type Asked = {
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
