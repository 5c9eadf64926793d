// Searches licenses by any text: id, key hint, customer, metadata.
import type { Pool } from 'pg';
import { parseId } from '../../../ids.ts';
import { type Bind, createBinder, NOTHING, type Sql } from './binder.ts';
import { findCustomers, licensesOf } from './by-customer.ts';

/** Shorter texts have no index of substrings: they match whole values only. */
const MIN_SUBSTRING = 3;

/** If more licenses match, they are found in the order of the list: they are frequent. */
const MAX_LICENSES = 1_000;

/** The condition on licenses; undefined without a search. */
export async function searchCondition(
  pool: Pool,
  search: string | undefined,
  bind: Bind,
): Promise<Sql | undefined> {
  const text = search?.trim();
  if (text === undefined) return undefined;
  if (text === '' || text.includes('\0')) return NOTHING;
  const id = parseId('lic', text);
  if (id !== undefined) return `l.id = ${bind(id)}`;
  const isLong = [...text].length >= MIN_SUBSTRING;
  const own = createBinder();
  const customers = await findCustomers(pool, customersWith(text, isLong, own.bind), own.values);
  const licenses = isLong ? await licensesWith(pool, text) : [];
  const conditions = [
    // license_key_hint_idx
    ...(/^[0-9A-Za-z]{5}$/.test(text) ? [`l.key_hint = ${bind(text.toUpperCase())}`] : []),
    customers === undefined
      ? `exists (select from customer c where c.id = l.customer_id and ${customersWith(text, isLong, bind)})`
      : licensesOf(customers, bind),
    licenses === undefined ? metadataWith(bind(text)) : `l.id = any(${bind(licenses)}::uuid[])`,
  ];
  return `(${conditions.join(' or ')})`;
}

/** customer_search_idx; or customer_name_idx, customer_email_idx and customer_external_ref_key */
function customersWith(text: string, isLong: boolean, bind: Bind): Sql {
  const term = `${bind(text)}::text`;
  if (!isLong) {
    return `(c.name = ${term} or (c.email is not null and lower(c.email) = lower(${term}))
             or c.external_ref = ${term})`;
  }
  const contains = (column: Sql): Sql => `position(lower(${term}) in lower(${column})) > 0`;
  // An address or a reference that is null contains nothing.
  return `c.search_grams @> search_grams(${term})
          and (${['c.name', 'c.email', 'c.external_ref'].map(contains).join(' or ')})`;
}

/** The ids of the licenses whose metadata contains the text; undefined if there are too many. */
async function licensesWith(pool: Pool, text: string): Promise<string[] | undefined> {
  const { rows } = await pool.query<{ id: string }>(
    // license_metadata_grams_idx. Materialized, so that the limit does not lead to a plan that reads the whole
    // table.
    `with found as materialized (
       select l.id from license l where l.metadata <> '{}' and ${metadataWith('$1')}
     )
     select id from found limit ${MAX_LICENSES + 1}`,
    [text],
  );
  return rows.length > MAX_LICENSES ? undefined : rows.map(({ id }) => id);
}

function metadataWith(term: Sql): Sql {
  return `(l.metadata_grams @> search_grams(${term}::text) and exists (
             select from jsonb_each_text(l.metadata) e
             where position(lower(${term}::text) in lower(e.value)) > 0))`;
}
