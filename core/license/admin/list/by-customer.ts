// Finds the licenses of customers by id, name, email or external reference.
import type { Pool } from 'pg';
import type { ListLicensesRequest } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { parseId } from '../../../ids.ts';
import { type Source, statementOf } from './source.ts';
import { type Bind, NOTHING, type Sql } from './sql-parameters.ts';

export type CustomerFilter = Pick<
  ListLicensesRequest,
  'customerId' | 'customer' | 'customerEmail' | 'externalRef'
>;

/** A search with more matches looks at the newest licenses only: its words are frequent. */
export const MAX_CUSTOMERS = 1_000;

export function hasCustomerFilter(filter: CustomerFilter): boolean {
  const { customerId, customer, customerEmail, externalRef } = filter;
  return [customerId, customer, customerEmail, externalRef].some((value) => value !== undefined);
}

/** The licenses of the customers with this id, name, email and external reference. */
export function sourceOfCustomers(filter: CustomerFilter, bind: Bind): Source {
  return licensesOf('customer c', customersWhere(filter, bind));
}

export function sourceOfCustomerIds(ids: readonly string[], bind: Bind): Source {
  return licensesOf(`unnest(${bind(ids)}::uuid[]) c (id)`, 'true');
}

/** For each customer only as many licenses as a page has: one of them may have many. license_customer_idx */
function licensesOf(customers: Sql, where: Sql): Source {
  return (conditions, limit) =>
    `select x.id from ${customers} cross join lateral (
       ${statementOf('license l', ['l.customer_id = c.id', ...conditions], limit)}
     ) x where ${where} order by x.id desc limit ${limit}`;
}

/** The ids of the customers that match; undefined if there are too many. */
export async function findCustomers(
  pool: Pool,
  where: Sql,
  values: readonly unknown[],
): Promise<string[] | undefined> {
  const { rows } = await pool.query<{ id: string }>(
    // Materialized, so that the limit does not lead to a plan that reads the whole table.
    `with found as materialized (select c.id from customer c where ${where})
     select id from found limit ${MAX_CUSTOMERS + 1}`,
    [...values],
  );
  return rows.length > MAX_CUSTOMERS ? undefined : rows.map(({ id }) => id);
}

function customersWhere(filter: CustomerFilter, bind: Bind): Sql {
  const { customerId, customer, customerEmail, externalRef } = filter;
  // PostgreSQL accepts no text with this character.
  if ([customer, customerEmail, externalRef].some((value) => value?.includes('\0'))) return NOTHING;
  return [
    // customer_pkey
    ...(customerId === undefined ? [] : [`c.id = ${bind(parseId('cus', customerId) ?? null)}::uuid`]),
    // customer_name_idx
    ...(customer === undefined ? [] : [`c.name = ${bind(customer)}`]),
    // customer_email_idx
    ...(customerEmail === undefined
      ? []
      : [`c.email is not null and lower(c.email) = lower(${bind(customerEmail)})`]),
    // customer_external_ref_key
    ...(externalRef === undefined ? [] : [`c.external_ref = ${bind(externalRef)}`]),
  ].join(' and ');
}
