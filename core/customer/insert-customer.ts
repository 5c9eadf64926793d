// Inserts a customer, and records the change.
import type { ClientBase } from 'pg';
import type { Actor } from '../access/caller.ts';
import { recordChangeNow } from '../audit/record.ts';
import { recordEvent } from '../event/outbox.ts';
import { formatId } from '../ids.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import type { PersonalData } from './lock-customer.ts';
import { newDataKey } from './personal-data.ts';

export type InsertOptions = {
  /** Seals the personal data in the audit log. */
  readonly sealer: Sealer;
  readonly actor: Actor;
  readonly now: Date;
};

export async function insertCustomer(
  client: ClientBase,
  id: string,
  data: PersonalData,
  { sealer, actor, now }: InsertOptions,
): Promise<void> {
  const key = newDataKey(sealer, id);
  await client.query({
    name: 'insert_customer',
    text: `insert into customer (id, name, email, external_ref, metadata, sealed_data_key, created_at)
           values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [id, data.name, data.email, data.externalRef, data.metadata, key.sealedKey, now],
  });
  await recordEvent(client, now, { type: 'customer.created', objectId: id });
  await recordChangeNow(client, actor, now, {
    action: 'customer.create',
    subject: formatId('cus', id),
    before: null,
    after: key.sealFacts(factsOf(data)),
  });
}

/** The personal data in the audit log. */
export function factsOf({ name, email, externalRef, metadata }: PersonalData) {
  return { name, email, externalRef, metadata: Object.keys(metadata).length > 0 ? metadata : null };
}
