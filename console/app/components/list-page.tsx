// A page of a list, whose filters, time range and page token are in the address.

import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import { DAY_MS } from '../../../lib/presentation/calendar.ts';
import { useKept } from '../forms/search.ts';
import { type Live, PageRefresh, useLive } from '../poll-hub.ts';
import { type Route, useRoute } from '../route.ts';
import { type Filter, Filters } from './filters.tsx';
import { Loaded } from './loaded.tsx';
import { Page } from './page.tsx';
import { Pager } from './pager.tsx';

type ListQuery = {
  /** The query of the address, with the default values of the filters. */
  readonly query: Route['query'];
  readonly pageToken: string;
  /** The start of the time range; undefined for any time. */
  readonly from: Timestamp | undefined;
};

export type ListPageProps<T> = {
  readonly title: string;
  /** Pause between an answer and the next poll, in milliseconds. */
  readonly everyMs: number;
  readonly filters?: readonly Filter[];
  readonly load: (list: ListQuery, options: { readonly signal: AbortSignal }) => Promise<T>;
  readonly tabs?: ComponentChildren;
  /** `page` is undefined until the hub has answered. */
  readonly actions?: (page: T | undefined) => ComponentChildren;
  /** For a list that follows a search: the rows, and the singular of what they are; its plural ends with s. */
  readonly search?: { readonly what: string; readonly rows: (page: T) => readonly unknown[] };
  readonly children: (page: T) => ComponentChildren;
};

/** Polls the page of the list that the address names. Links to later pages have its `since`. */
export function ListPage<T extends { readonly nextPageToken: string; readonly since?: string }>(
  props: ListPageProps<T>,
) {
  const { title, everyMs, filters = [], load, tabs, actions, search, children } = props;
  const { query } = useRoute();
  const polled: Live<T & { readonly since: string }> = useLive(
    JSON.stringify(query),
    everyMs,
    async (signal) => {
      const defaults = filters.flatMap(({ name, otherwise }) => (otherwise ? [[name, otherwise]] : []));
      const values: Route['query'] = { ...Object.fromEntries(defaults), ...query };
      const from = rangeStart(values['span'], query['since']);
      const page = await load({ query: values, pageToken: query['after'] ?? '', from }, { signal });
      return { since: from ? timestampDate(from).toISOString() : '', ...page };
    },
  );
  const kept = useKept(polled);
  const live = search ? kept : { ...polled, isOutdated: false };
  return (
    <PageRefresh.Provider value={live.refresh}>
      <Page title={title} actions={actions?.(live.data)}>
        {filters.length > 0 && <Filters filters={filters} />}
        {tabs}
        <Loaded live={live}>
          {(page) => (
            <div class={live.isOutdated ? 'outdated' : ''} aria-busy={live.isOutdated}>
              {search && (
                <p class="visually-hidden" role="status">
                  {countText(search.rows(page).length, search.what, page.nextPageToken !== '')}
                </p>
              )}
              {children(page)}
              <Pager next={page.nextPageToken} since={page.since} isOutdated={live.isOutdated} />
            </div>
          )}
        </Loaded>
      </Page>
    </PageRefresh.Provider>
  );
}

function countText(count: number, what: string, hasMore: boolean): string {
  const counted = `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`;
  return hasMore ? `the first ${counted}` : counted;
}

const TIME_RANGES = [
  ['1', 'last day'],
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
  ['all', 'any time'],
] as const;

/** The filter by time; `otherwise`: the days of the default. */
export function timeFilter(label: string, otherwise: string): Filter {
  return { name: 'span', label, choices: TIME_RANGES, otherwise };
}

/**
 * The start of the last `span` days; undefined for any time. Later pages of a list pass the start of its first page as
 * `since`, because the hub accepts a page token only with the filters of the first page.
 */
function rangeStart(span = 'all', since = ''): Timestamp | undefined {
  const begun = new Date(since);
  if (!Number.isNaN(begun.getTime())) return timestampFromDate(begun);
  const days = Number(span);
  return Number.isInteger(days) && days > 0
    ? timestampFromDate(new Date(Date.now() - days * DAY_MS))
    : undefined;
}
