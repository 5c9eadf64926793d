// Locks customers. A transaction locks a customer before the licenses of the customer.
import type { ClientBase } from 'pg';
import { HubError, unknownId } from '../errors.ts';
import { parseId, type Uuid } from '../ids.ts';
import type { Customer } from './entities.ts';

/** The personal data of a customer. */
export type PersonalData = Pick<Customer, 'name' | 'metadata'> & {
  readonly email: string | null;
  readonly externalRef: string | null;
};

export type LockedCustomer = PersonalData & {
  readonly id: string;
  readonly sealedDataKey: Buffer | null;
  readonly isErased: boolean;
};

/**
 * Locks a customer to change it. Rows that reference the customer can still be inserted: a settlement, which
 * holds the lock of its session, does not wait for an erasure, which locks sessions after the customer.
 *
 * @throws HubError `customer_unknown`
 */
export async function lockCustomer(client: ClientBase, customerId: string): Promise<LockedCustomer> {
  const { rows } = await client.query<LockedCustomer>({
    name: 'lock_customer',
    // customer_pkey
    text: `select id, name, email, external_ref as "externalRef", metadata,
           sealed_data_key as "sealedDataKey",
                  erased_at is not null as "isErased"
           from customer where id = $1 for no key update`,
    values: [parseId('cus', customerId) ?? null],
  });
  const [found] = rows;
  if (found === undefined) throw unknownId('cus');
  return found;
}

/**
 * Locks a customer against changes and erasure, and returns its UUID. Several transactions can hold this
 * lock.
 *
 * @throws HubError `customer_unknown`, `customer_erased`
 */
export async function lockCustomerForShare(client: ClientBase, customerId: string): Promise<Uuid> {
  const id = parseId('cus', customerId);
  const { rows } = await client.query<{ isErased: boolean }>({
    name: 'lock_customer_for_share',
    // customer_pkey
    text: 'select erased_at is not null as "isErased" from customer where id = $1 for share',
    values: [id ?? null],
  });
  const [row] = rows;
  if (id === undefined || row === undefined) throw unknownId('cus');
  requireNotErased(row);
  return id;
}

/** @throws HubError `customer_erased` */
export function requireNotErased({ isErased }: { readonly isErased: boolean }): void {
  if (!isErased) return;
  const message = 'the personal data of this customer is erased';
  throw new HubError('customer_erased', message, { field: 'customerId' });
}
