// Searches licenses by any text: id, key hint, customer, metadata.
import type { Pool } from 'pg';
import { parseId } from '../../../ids.ts';
import { findRare } from '../../../storage/sql/find-rare-text.ts';
import { findCustomers, MAX_CUSTOMERS, sourceOfCustomerIds } from './by-customer.ts';
import { licensesWhere, type Source, sourceOfIds, unionOf, walkWhere } from './source.ts';
import { type Bind, createBinder, NOTHING, type Sql } from './sql-parameters.ts';

/** Shorter texts have no index of substrings: they match whole values only. */
const MIN_SUBSTRING = 3;

/** A search with more matches looks at the newest licenses only: its words are frequent. */
const MAX_LICENSES = 1_000;
const NEWEST = 100_000;

export type Search = {
  /** The licenses that the search finds. */
  source(bind: Bind): Source;
  /** Whether the search finds a license `l`. */
  condition(bind: Bind): Sql;
};

const FINDS_NOTHING: Search = { source: () => licensesWhere(NOTHING), condition: () => NOTHING };

/** Finds the customers, and the licenses by metadata, that match. */
export async function prepareSearch(pool: Pool, search: string): Promise<Search> {
  const text = search.trim();
  if (text === '' || text.includes('\0')) return FINDS_NOTHING;
  const id = parseId('lic', text);
  if (id !== undefined) {
    const condition = (bind: Bind): Sql => `l.id = ${bind(id)}`;
    return { condition, source: (bind) => licensesWhere(condition(bind)) };
  }
  const isLong = [...text].length >= MIN_SUBSTRING;
  const own = createBinder();
  const where = customersWith(text, isLong, own.bind);
  const customers = isLong
    ? await findRare(pool, { from: 'customer c', where, values: own.values, most: MAX_CUSTOMERS })
    : await findCustomers(pool, where, own.values);
  // license_metadata_grams_idx
  const licenses = isLong ? await findLicenses(pool, metadataWith('$1'), [text]) : [];
  // license_key_hint_idx
  const hasHint = (bind: Bind): Sql[] =>
    /^[0-9A-Za-z]{5}$/.test(text) ? [`l.key_hint = ${bind(text.toUpperCase())}`] : [];
  const condition = (bind: Bind): Sql => {
    const conditions = [
      ...hasHint(bind),
      customers === undefined
        ? // OFFSET 0 keeps the planner from collecting all customers that match.
          `exists (select from customer c where c.id = l.customer_id
           and ${customersWith(text, isLong, bind)} offset 0)`
        : `l.customer_id = any(${bind(customers)}::uuid[])`,
      licenses === undefined ? metadataWith(bind(text)) : `l.id = any(${bind(licenses)}::uuid[])`,
    ];
    return `(${conditions.join(' or ')})`;
  };
  return {
    condition,
    source(bind) {
      if (customers === undefined || licenses === undefined) return newestWhere(condition(bind));
      return unionOf([
        ...hasHint(bind).map(licensesWhere),
        ...(customers.length === 0 ? [] : [sourceOfCustomerIds(customers, bind)]),
        sourceOfIds(licenses, bind),
      ]);
    },
  };
}

function newestWhere(condition: Sql): Source {
  const walk = walkWhere(condition);
  const isNew = `l.id >= coalesce((select id from license order by id desc offset ${NEWEST - 1} limit 1),
    '00000000-0000-0000-0000-000000000000')`;
  return (conditions, limit) => walk([isNew, ...conditions], limit);
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

/** The ids of the licenses whose metadata meets the condition; undefined if there are too many. */
export function findLicenses(
  pool: Pool,
  condition: Sql,
  values: readonly unknown[],
): Promise<string[] | undefined> {
  const where = `l.metadata <> '{}' and ${condition}`;
  return findRare(pool, { from: 'license l', where, values, most: MAX_LICENSES });
}

function metadataWith(term: Sql): Sql {
  return `(metadata_grams(l.metadata) @> search_grams(${term}::text) and exists (
             select from jsonb_each_text(l.metadata) e
             where position(lower(${term}::text) in lower(e.value)) > 0))`;
}
