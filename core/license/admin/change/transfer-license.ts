// TransferLicense: gives a license to another customer.
import type { PoolClient } from 'pg';
import { HubError } from '../../../errors.ts';
import { parseId, type Uuid } from '../../../ids.ts';

/**
 * Locks a customer, so that nobody erases it meanwhile. Customers are locked before their licenses.
 *
 * @throws HubError `customer_unknown`, `customer_erased`
 */
export async function lockCustomer(client: PoolClient, customerId: string): Promise<Uuid> {
  const id = parseId('cus', customerId);
  const { rows } = await client.query<{ erased: boolean }>({
    name: 'lock_customer_for_transfer',
    // customer_pkey
    text: 'select erased_at is not null as erased from customer where id = $1 for share',
    values: [id ?? null],
  });
  const [row] = rows;
  if (id === undefined || row === undefined) {
    throw new HubError('customer_unknown', 'there is no customer with this id', { field: 'customerId' });
  }
  if (row.erased) {
    throw new HubError('customer_erased', 'this customer is erased', { field: 'customerId' });
  }
  return id;
}
