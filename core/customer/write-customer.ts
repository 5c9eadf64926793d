// The statements that create and update customers.
import type { ClientBase } from 'pg';
import { HubError } from '../errors.ts';
import type { PersonalData } from './lock-customer.ts';

export async function writeCustomer(
  client: ClientBase,
  id: string,
  { name, email, externalRef, metadata }: PersonalData,
  sealedDataKey: Buffer,
): Promise<void> {
  await client.query({
    name: 'update_customer',
    // customer_pkey
    text: `update customer set name = $2, email = $3, external_ref = $4, metadata = $5,
           sealed_data_key = $6
           where id = $1`,
    values: [id, name, email, externalRef, metadata, sealedDataKey],
  });
}

/**
 * Checks under a lock that no other customer has the reference. It does not rely on the unique index, because
 * PostgreSQL would write the refused value to its log.
 */
export async function requireFreeReference(
  client: ClientBase,
  externalRef: string | null,
  id: string,
): Promise<void> {
  if (externalRef === null) return;
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `customer reference ${externalRef}`,
  ]);
  const { rowCount } = await client.query({
    name: 'customer_by_external_ref',
    // customer_external_ref_key
    text: 'select from customer where external_ref = $1 and id <> $2',
    values: [externalRef, id],
  });
  if (rowCount === 0) return;
  const message = 'another customer has this external reference; use that customer, or another reference';
  throw new HubError('external_ref_taken', message, { field: 'externalRef' });
}

/** Sets the customer of a stored request. The foreign key requires that the customer exists. */
export async function linkRequest(
  client: ClientBase,
  { scope, key }: { readonly scope: string; readonly key: string },
  id: string,
): Promise<void> {
  await client.query({
    name: 'link_request_to_customer',
    // idempotent_request_pkey
    text: 'update idempotent_request set customer_id = $3 where scope = $1 and key = $2',
    values: [scope, key, id],
  });
}
