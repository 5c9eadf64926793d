// Paging by id, newest first: a page token is the id of the last item of the page before.
import { HubError } from '../errors.ts';
import { formatId, type IdPrefix, parseId, type Uuid } from '../ids.ts';

const DEFAULT_PAGE_SIZE = 50;

export type PageRequest = {
  /** At most so many; 0 means 50. */
  readonly pageSize: number;
  /** Empty for the first page. */
  readonly pageToken: string;
};

export type Page<T> = {
  readonly items: readonly T[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
};

/**
 * Reads one page. `read` returns up to `limit` items with ids below `after`, the largest id first.
 * @throws HubError `page_token_invalid`
 */
export async function readPage<T extends { id: string }>(
  { pageSize, pageToken }: PageRequest,
  prefix: IdPrefix,
  read: (after: Uuid | undefined, limit: number) => Promise<T[]>,
): Promise<Page<T>> {
  const after = pageToken === '' ? undefined : parseId(prefix, pageToken);
  if (pageToken !== '' && after === undefined) {
    throw new HubError('page_token_invalid', 'pass the next_page_token of the page before, unchanged', {
      field: 'pageToken',
    });
  }
  const size = pageSize || DEFAULT_PAGE_SIZE;
  // One more than asked for tells whether there is another page.
  const found = await read(after, size + 1);
  const items = found.slice(0, size);
  const last = items.at(-1);
  return { items, nextPageToken: found.length > size && last ? formatId(prefix, last.id) : '' };
}
