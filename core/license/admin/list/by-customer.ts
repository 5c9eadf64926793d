// Finds the licenses of customers by id, name, email or external reference.
import type { Pool } from 'pg';
import { parseId } from '../../../ids.ts';
import { type Bind, createBinder, NOTHING, type Sql } from './binder.ts';

export type CustomerFilter = {
  readonly customerId?: string | undefined;
  readonly customer?: string | undefined;
  readonly customerEmail?: string | undefined;
  readonly externalRef?: string | undefined;
};

/** If more customers match, their licenses are found in the order of the list: they are frequent. */
const MAX_CUSTOMERS = 100;

/** The condition on licenses; undefined without a filter. */
export async function customerCondition(
  pool: Pool,
  filter: CustomerFilter,
  bind: Bind,
): Promise<Sql | undefined> {
  const { customerId, customer, customerEmail, externalRef } = filter;
  const filters = [customerId, customer, customerEmail, externalRef].filter((value) => value !== undefined);
  if (filters.length === 0) return undefined;
  // PostgreSQL accepts no text with this character.
  if (filters.some((value) => value.includes('\0'))) return NOTHING;
  const own = createBinder();
  const ids = await findCustomers(pool, customersWhere(filter, own.bind), own.values);
  if (ids === undefined) {
    return `exists (select from customer c where c.id = l.customer_id and ${customersWhere(filter, bind)})`;
  }
  return licensesOf(ids, bind);
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

/** license_customer_idx */
export function licensesOf(customerIds: readonly string[], bind: Bind): Sql {
  const [first, ...others] = customerIds;
  if (first === undefined) return NOTHING;
  return others.length === 0
    ? `l.customer_id = ${bind(first)}`
    : `l.customer_id = any(${bind(customerIds)}::uuid[])`;
}

function customersWhere(filter: CustomerFilter, bind: Bind): Sql {
  const { customerId, customer, customerEmail, externalRef } = filter;
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
