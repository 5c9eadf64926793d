// Finds the ids of customers by a filter and a search.
import type { Pool } from 'pg';
import type { ListCustomersRequest } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { appUnknown } from '../errors.ts';
import type { Uuid } from '../ids.ts';
import { findRare } from '../storage/sql/find-rare-text.ts';

export type CustomerFilter = Pick<ListCustomersRequest, 'app' | 'search' | 'email' | 'externalRef'>;

/** customer_search_idx contains trigrams. */
const GRAM = 3;
/** If a search has more matches, it covers only the `NEWEST` customers. */
const MAX_FOUND = 1_000;
const NEWEST = 100_000;
/** A search for a text shorter than a trigram covers only these customers. */
const NEWEST_BY_SHORT_TEXT = 10_000;

export async function findAppId(pool: Pool, slug: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>('select id from app where slug = $1', [slug]);
  if (rows[0] === undefined) throw appUnknown();
  return rows[0].id;
}

/**
 * Returns the ids of customers that contain the text; undefined if the text is too short, or the matches too
 * many.
 */
export function findBySearch(pool: Pool, search: string): Promise<string[] | undefined> {
  if ([...search].length < GRAM) return Promise.resolve(undefined);
  return findRare(pool, {
    from: 'customer c',
    // customer_search_idx
    where: `c.search_grams @> search_grams($1) and ${contains('$1')}`,
    values: [search],
    most: MAX_FOUND,
  });
}

type Query = Omit<CustomerFilter, 'app'> & {
  /** The ids that the search found; undefined if the search covers the newest customers. */
  readonly found: readonly string[] | undefined;
  readonly appId: string | undefined;
  readonly after: Uuid | undefined;
  readonly limit: number;
};

/** The ids of a page, newest first. */
export async function readCustomerIds(pool: Pool, query: Query): Promise<string[]> {
  const { text, values } = statement(query);
  const { rows } = await pool.query<{ id: string }>(text, values);
  return rows.map(({ id }) => id);
}

/** Uses customer_pkey, customer_email_idx, customer_external_ref_key, license_app_customer_idx. */
function statement({ search, email, externalRef, found, appId, after, limit }: Query) {
  const values: unknown[] = [];
  const value = (each: unknown): string => `$${values.push(each)}`;
  const isOnlyApp = email === undefined && externalRef === undefined && search === undefined;
  if (appId !== undefined && isOnlyApp) return ofApp(appId, after, limit);
  const conditions = [
    ...(email === undefined ? [] : [`lower(c.email) = lower(${value(email)})`]),
    ...(externalRef === undefined ? [] : [`c.external_ref = ${value(externalRef)}`]),
    ...(found === undefined ? [] : [`c.id = any(${value(found)}::uuid[])`]),
    ...(search === undefined || found !== undefined ? [] : [isNewAndContains(search, value(search))]),
    ...(appId === undefined
      ? []
      : [`exists (select from license l where l.customer_id = c.id and l.app_id = ${value(appId)})`]),
    ...(after === undefined ? [] : [`c.id < ${value(after)}`]),
  ];
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const text = `select c.id from customer c ${where} order by c.id desc limit ${value(limit)}`;
  return { text, values };
}

/** Looks up the index once per customer, because a customer may have many licenses. */
function ofApp(appId: string, after: Uuid | undefined, limit: number) {
  const next = (below: string): string =>
    `select customer_id from license
     where app_id = $1 and customer_id is not null and customer_id < ${below}
     order by customer_id desc limit 1`;
  const text = `
    with recursive own (id) as (
      (${next('$2')})
      union all
      select (${next('own.id')}) from own where own.id is not null
    )
    select id from own where id is not null limit $3`;
  return { text, values: [appId, after ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff', limit] };
}

function isNewAndContains(search: string, parameter: string): string {
  const newest = [...search].length < GRAM ? NEWEST_BY_SHORT_TEXT : NEWEST;
  return `c.id >= coalesce((select id from customer order by id desc offset ${newest - 1} limit 1),
            '00000000-0000-0000-0000-000000000000') and ${contains(parameter)}`;
}

function contains(parameter: string): string {
  const isIn = (column: string): string =>
    `position(lower(${parameter}) in lower(coalesce(${column}, ''))) > 0`;
  return `(${isIn('c.name')} or ${isIn('c.email')} or ${isIn('c.external_ref')})`;
}
