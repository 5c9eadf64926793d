// Paging, newest first. The position in a list is the last item of the page before: its id, and in lists of a
// span of time its time. Callers never see a position: the RPC port encrypts it into a page token
// (core/rpc/page-tokens.ts).
//
// Lists of a span of time are in the order of that time, and of ids where it is the same. Each page is read
// where the one before ended, so the size of the rest of the table does not matter. Other lists are in the
// order of ids.
import type { EntityManager, EntityName, FilterQuery } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { formatId, type IdPrefix, parseId, type Uuid } from '../../ids.ts';

const DEFAULT_PAGE_SIZE = 50;

export type PageRequest = {
  /** Maximum number of items. 0: 50. */
  readonly pageSize: number;
  /**
   * The position after which the page starts. The RPC port has already decrypted the page token. Empty for
   * the first page.
   */
  readonly pageToken: string;
};

export type Page<T> = {
  readonly items: readonly T[];
  /** The position after this page; empty on the last page. */
  readonly nextPageToken: string;
};

/** A position in a list of a span of time. */
export type SpanPosition = { readonly at: Date; readonly id: Uuid };

/**
 * Reads one page of a list in the order of ids. `read` returns up to `limit` items with ids below `after`,
 * the largest id first.
 * @throws HubError `page_token_invalid`
 */
export function readPage<T extends { id: string }>(
  request: PageRequest,
  prefix: IdPrefix,
  read: (after: Uuid | undefined, limit: number) => Promise<T[]>,
): Promise<Page<T>> {
  return readFrom(request, {
    parse: (position) => parseId(prefix, position),
    format: ({ id }) => formatId(prefix, id),
    read,
  });
}

/** The maximum number of rows that one page reads if no index fits the filter. */
export const MAX_SCANNED_ROWS = 5_000;

/** `end`: the id of the last row that was read; undefined if there are no more. */
export type Scanned<T> = { readonly found: T[]; readonly end: Uuid | undefined };

/**
 * Like `readPage`, but reads at most `MAX_SCANNED_ROWS` rows for a page. A page may have fewer items than
 * requested, or none, although others follow.
 * @throws HubError `page_token_invalid`
 */
export async function readScannedPage<T extends { id: string }>(
  request: PageRequest,
  prefix: IdPrefix,
  scan: (after: Uuid | undefined, limit: number) => Promise<Scanned<T>>,
): Promise<Page<T>> {
  let end: Uuid | undefined;
  const page = await readPage(request, prefix, async (after, limit) => {
    const scanned = await scan(after, limit);
    ({ end } = scanned);
    return scanned.found;
  });
  if (page.nextPageToken !== '' || end === undefined) return page;
  return { ...page, nextPageToken: formatId(prefix, end) };
}

/**
 * Reads one page of a list of a span of time. `read` returns up to `limit` items after a position,
 * in descending order of `time` and of ids.
 * @throws HubError `page_token_invalid`
 */
export function readSpanPage<K extends string, T extends { id: string } & Record<K, Date>>(
  request: PageRequest,
  prefix: IdPrefix,
  time: K,
  read: (after: SpanPosition | undefined, limit: number) => Promise<T[]>,
): Promise<Page<T>> {
  return readFrom(request, {
    parse: (position) => parseSpanPosition(prefix, position),
    format: (last) => `${last[time].getTime()}.${formatId(prefix, last.id)}`,
    read,
  });
}

async function readFrom<T, P>(
  { pageSize, pageToken }: PageRequest,
  list: {
    parse(position: string): P | undefined;
    format(last: T): string;
    read(after: P | undefined, limit: number): Promise<T[]>;
  },
): Promise<Page<T>> {
  const after = pageToken === '' ? undefined : list.parse(pageToken);
  if (pageToken !== '' && after === undefined) throw pageTokenInvalid();
  const size = pageSize || DEFAULT_PAGE_SIZE;
  // One more than requested shows whether there is another page.
  const found = await list.read(after, size + 1);
  const items = found.slice(0, size);
  const last = items.at(-1);
  return { items, nextPageToken: found.length > size && last ? list.format(last) : '' };
}

function parseSpanPosition(prefix: IdPrefix, position: string): SpanPosition | undefined {
  const [, ms = '', text = ''] = /^(-?\d{1,15})\.(\w+)$/.exec(position) ?? [];
  const id = parseId(prefix, text);
  return id && { at: new Date(Number(ms)), id };
}

/**
 * The same for every page token that does not continue this list, so that it does not reveal which items
 * exist.
 */
export function pageTokenInvalid(): HubError {
  return new HubError(
    'page_token_invalid',
    'pass the next_page_token of the previous page unchanged and with the same filters, or omit it ' +
      'to start over',
    { field: 'pageToken' },
  );
}

/** A list of entities that meet all conditions. */
type EntityList<E> = {
  readonly em: EntityManager;
  readonly entity: EntityName<E>;
  readonly prefix: IdPrefix;
  readonly where: readonly FilterQuery<NoInfer<E>>[];
  readonly populate?: readonly (keyof NoInfer<E> & string)[];
};

/** Reads one page of a list in the order of ids. @throws HubError `page_token_invalid` */
export function findPage<E extends { id: string }>(
  list: EntityList<E>,
  request: PageRequest,
): Promise<Page<E>> {
  return readPage(request, list.prefix, (after, limit) =>
    findAfter(list, after && { id: { $lt: after } }, { id: 'desc' }, limit),
  );
}

/** Reads one page of a list in the order of a property with a time. @throws HubError `page_token_invalid` */
export function findSpanPage<K extends string, E extends { id: string } & Record<K, Date>>(
  list: EntityList<E>,
  time: K,
  request: PageRequest,
): Promise<Page<E>> {
  return readSpanPage(request, list.prefix, time, (after, limit) => {
    const later = after && {
      // Redundant, but lets PostgreSQL start the index scan here.
      [time]: { $lte: after.at },
      $or: [{ [time]: { $lt: after.at } }, { id: { $lt: after.id } }],
    };
    return findAfter(list, later, { [time]: 'desc', id: 'desc' }, limit);
  });
}

async function findAfter<E extends object>(
  { em, entity, where, populate }: EntityList<E>,
  later: object | undefined,
  orderBy: object,
  limit: number,
): Promise<E[]> {
  const conditions = { $and: later ? [...where, later] : where };
  const options = { orderBy, limit, ...(populate && { populate }) };
  // TypeScript cannot check the property names of a generic entity.
  return (await em.find(entity, conditions as FilterQuery<NoInfer<E>>, options as object)) as E[];
}
