// Paging, newest first: a page token is the id of the last item of the page before.
//
// Lists of a span of time are in the order of that time, and of ids where it is the same: so each page is read where
// the one before ended, however much lies before and after the span. Other lists are in the order of ids.
import type { EntityManager, EntityName, FilterQuery } from '@mikro-orm/postgresql';
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
  if (pageToken !== '' && after === undefined) throw pageTokenInvalid();
  const size = pageSize || DEFAULT_PAGE_SIZE;
  // One more than asked for tells whether there is another page.
  const found = await read(after, size + 1);
  const items = found.slice(0, size);
  const last = items.at(-1);
  return { items, nextPageToken: found.length > size && last ? formatId(prefix, last.id) : '' };
}

function pageTokenInvalid(): HubError {
  return new HubError('page_token_invalid', 'pass the next_page_token of the page before, unchanged', {
    field: 'pageToken',
  });
}

/** The order of lists of a span of time, by the property with that time. */
export function latestFirst<K extends string>(time: K): { [T in K]: 'desc' } & { id: 'desc' } {
  return { [time]: 'desc', id: 'desc' } as { [T in K]: 'desc' } & { id: 'desc' }; // a computed name loses its type
}

/** What comes after the item with id `after` in that order. @throws HubError `page_token_invalid` if it is gone */
export async function laterInList<T extends { id: string }>(
  em: EntityManager,
  entity: EntityName<T>,
  time: keyof T & string,
  after: Uuid,
): Promise<FilterQuery<T>> {
  const last = await em.findOne(entity, { id: after } as FilterQuery<T>); // every entity here has an id
  if (last === null) throw pageTokenInvalid();
  const at = last[time as keyof typeof last];
  // The first condition is what the index is entered by.
  const condition: object = { [time]: { $lte: at }, $or: [{ [time]: { $lt: at } }, { id: { $lt: after } }] };
  return condition as FilterQuery<T>; // a computed name loses its type
}
