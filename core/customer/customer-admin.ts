// Creates, reads and updates customers.
import type { Actor } from '../access/caller.ts';
import { changedMembers, recordChangeNow } from '../audit/record.ts';
import { recordEvent } from '../event/outbox.ts';
import { runOnce, storeRequest } from '../idempotency/once.ts';
import { formatId, newUuid } from '../ids.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import { findById } from '../storage/sql/find-by-id.ts';
import { inTransaction } from '../storage/sql/transaction.ts';
import { type Customer, CustomerSchema } from './entities.ts';
import { factsOf, insertCustomer } from './insert-customer.ts';
import { lockCustomer, type PersonalData, requireNotErased } from './lock-customer.ts';
import { newDataKey, openDataKey } from './personal-data.ts';
import { linkRequest, requireFreeReference, writeCustomer } from './write-customer.ts';

export type CustomersOptions = Pick<ModuleDependencies, 'db' | 'sealer' | 'clock'>;

export function createCustomers({ db, sealer, clock }: CustomersOptions) {
  const { pool } = db;

  /** @throws HubError `customer_unknown` */
  const get = (customerId: string): Promise<Customer> => findById(db.em(), CustomerSchema, 'cus', customerId);

  return {
    get,

    /**
     * A repeated call with the same idempotency key returns the same customer.
     * @throws HubError `external_ref_taken`, `idempotency_key_reused`
     */
    async create(data: PersonalData, idempotencyKey: string | undefined, actor: Actor): Promise<Customer> {
      const request =
        idempotencyKey === undefined
          ? undefined
          : { scope: 'CreateCustomer', key: idempotencyKey, request: data };
      const id = newUuid();
      const run = async (): Promise<Customer> => {
        await inTransaction(pool, async (client) => {
          const now = clock();
          if (request) await storeRequest(client, { ...request, result: { ids: [id] }, at: now });
          await requireFreeReference(client, data.externalRef, id);
          await insertCustomer(client, id, data, { sealer, actor, now });
          if (request) await linkRequest(client, request, id);
        });
        return get(formatId('cus', id));
      };
      return runOnce(pool, request, {
        run,
        readEarlier: ({ ids: [earlier = id] }) => get(formatId('cus', earlier)),
      });
    },

    /**
     * Replaces the personal data by the result of `change`. Without a difference, records nothing. If the
     * name equals the email, a new email also becomes the name.
     * @throws HubError `customer_unknown`, `customer_erased`, `external_ref_taken`, and the errors of
     * `change`
     */
    async update(
      customerId: string,
      change: (current: PersonalData) => PersonalData,
      actor: Actor,
    ): Promise<Customer> {
      await inTransaction(pool, async (client) => {
        const { id, sealedDataKey, isErased, ...before } = await lockCustomer(client, customerId);
        requireNotErased({ isErased });
        const after = withNameFromEmail(before, change(before));
        const changed = changedMembers(factsOf(before), factsOf(after));
        if (changed === undefined) return;
        const key = sealedDataKey ? openDataKey(sealer, id, sealedDataKey) : newDataKey(sealer, id);
        if (after.externalRef !== before.externalRef)
          await requireFreeReference(client, after.externalRef, id);
        await writeCustomer(client, id, after, key.sealedKey);
        const now = clock();
        await recordEvent(client, now, { type: 'customer.updated', objectId: id });
        await recordChangeNow(client, actor, now, {
          action: 'customer.update',
          subject: customerId,
          before: key.sealFacts(changed.before),
          after: key.sealFacts(changed.after),
        });
      });
      return get(customerId);
    },
  };
}

/**
 * Keeps the name equal to the email if it was. A customer that is created with only an email has it as the
 * name.
 */
function withNameFromEmail(before: PersonalData, after: PersonalData): PersonalData {
  const isEmail = before.name === before.email && after.name === before.name;
  return isEmail && after.email !== null ? { ...after, name: after.email } : after;
}
