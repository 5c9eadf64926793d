// Chooses the index that a list in the order of ids is read by: the filter that finds the fewest licenses.
import type { Pool } from 'pg';
import type { ListLicensesRequest } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { Metadata } from '../../terms.ts';
import { type CustomerFilter, hasCustomerFilter, sourceOfCustomers } from './by-customer.ts';
import { findLicenses, prepareSearch } from './by-search.ts';
import { allLicenses, licensesWhere, type Source, sourceOfIds, walkWhere } from './source.ts';
import type { Bind, Sql } from './sql-parameters.ts';

export type SelectiveFilter = CustomerFilter & Pick<ListLicensesRequest, 'keyHint' | 'metadata' | 'search'>;

/** Whether few licenses meet the filter, so that a list of them is in the order of ids. */
export function isSelective(filter: SelectiveFilter): boolean {
  return (
    hasCustomerFilter(filter) ||
    filter.keyHint !== undefined ||
    filter.search !== undefined ||
    hasMetadata(filter.metadata)
  );
}

/** The source of the licenses that meet the filter. */
export async function chooseSource(pool: Pool, filter: SelectiveFilter, bind: Bind): Promise<Source> {
  const { keyHint, metadata } = filter;
  const search = filter.search === undefined ? undefined : await prepareSearch(pool, filter.search);
  const contains = (place: Sql): Sql => `l.metadata @> ${place}::jsonb`;
  const hasHint = () => (keyHint === undefined ? [] : [`l.key_hint = ${bind(keyHint.toUpperCase())}`]);
  const alsoMetadata = () => (hasMetadata(metadata) ? [contains(bind(JSON.stringify(metadata)))] : []);
  if (hasCustomerFilter(filter)) {
    const isFound = search === undefined ? [] : [search.condition(bind)];
    return restricted(sourceOfCustomers(filter, bind), [...hasHint(), ...alsoMetadata(), ...isFound]);
  }
  if (search !== undefined) return restricted(search.source(bind), [...hasHint(), ...alsoMetadata()]);
  // license_key_hint_idx
  if (keyHint !== undefined) return restricted(licensesWhere(hasHint().join()), alsoMetadata());
  if (!hasMetadata(metadata)) return allLicenses;
  const value = JSON.stringify(metadata);
  // license_metadata_idx
  const ids = await findLicenses(pool, contains('$1'), [value]);
  return ids === undefined ? walkWhere(contains(bind(value))) : sourceOfIds(ids, bind);
}

function hasMetadata(metadata: Metadata): boolean {
  return Object.keys(metadata).length > 0;
}

function restricted(source: Source, more: readonly Sql[]): Source {
  return (conditions, limit) => source([...more, ...conditions], limit);
}
