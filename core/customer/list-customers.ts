// Lists customers, and searches them.
import { HubError } from '../errors.ts';
import type { Uuid } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../storage/sql/page.ts';
import { type Customer, CustomerSchema } from './entities.ts';

export type CustomerFilter = {
  /** Slug of an app: customers with a license of it. */
  readonly app: string | undefined;
  /** Part of the name, email or external reference, in any case. */
  readonly search: string | undefined;
  /** In any case. */
  readonly email: string | undefined;
  readonly externalRef: string | undefined;
};

/** customer_search_idx has runs of three characters. */
const GRAM = 3;
/** A shorter text is searched for in the newest customers only. */
const NEWEST = 10_000;

/** Newest first. @throws HubError `app_unknown`, `page_token_invalid` */
export async function listCustomers(
  db: Database,
  filter: CustomerFilter,
  request: PageRequest,
): Promise<Page<Customer>> {
  const appId = filter.app === undefined ? undefined : await findAppId(db.pool, filter.app);
  return readPage(request, 'cus', async (after, limit) => {
    const { text, values } = statement({ ...filter, appId, after, limit });
    const { rows } = await db.pool.query<{ id: string }>(text, values);
    const ids = rows.map(({ id }) => id);
    return db.em().find(CustomerSchema, { id: { $in: ids } }, { orderBy: { id: 'desc' } });
  });
}

async function findAppId(pool: Database['pool'], slug: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>('select id from app where slug = $1', [slug]);
  const [app] = rows;
  if (app === undefined) {
    throw new HubError('app_unknown', 'there is no app with this slug', { field: 'app' });
  }
  return app.id;
}

type Wanted = Omit<CustomerFilter, 'app'> & {
  readonly appId: string | undefined;
  readonly after: Uuid | undefined;
  readonly limit: number;
};

/** Uses customer_pkey, customer_email_idx, customer_external_ref_key, customer_search_idx, license_customer_idx. */
function statement({ search, email, externalRef, appId, after, limit }: Wanted) {
  const values: unknown[] = [];
  const value = (each: unknown): string => `$${values.push(each)}`;
  const conditions = [
    ...(email === undefined ? [] : [`lower(c.email) = lower(${value(email)})`]),
    ...(externalRef === undefined ? [] : [`c.external_ref = ${value(externalRef)}`]),
    ...(search === undefined ? [] : [searchCondition(search, value(search))]),
    ...(appId === undefined
      ? []
      : [`exists (select from license l where l.customer_id = c.id and l.app_id = ${value(appId)})`]),
    ...(after === undefined ? [] : [`c.id < ${value(after)}`]),
  ];
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const text = `select c.id from customer c ${where} order by c.id desc limit ${value(limit)}`;
  return { text, values };
}

function searchCondition(search: string, parameter: string): string {
  const isIn = (column: string): string =>
    `position(lower(${parameter}) in lower(coalesce(${column}, ''))) > 0`;
  const isFound = `(${isIn('c.name')} or ${isIn('c.email')} or ${isIn('c.external_ref')})`;
  return [...search].length >= GRAM
    ? `c.search_grams @> search_grams(${parameter}) and ${isFound}`
    : `c.id >= coalesce((select id from customer order by id desc offset ${NEWEST - 1} limit 1),
         '00000000-0000-0000-0000-000000000000') and ${isFound}`;
}
