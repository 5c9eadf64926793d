// Erases the personal data of a customer, in all modules and in one transaction.
//
// Each module with personal data of customers provides an `ErasePersonalData`. Money, seats and licenses
// stay.
import type { ClientBase, PoolClient } from 'pg';
import type { Actor } from '../access/caller.ts';
import type { Facts } from '../audit/entities.ts';
import { recordChangeNow } from '../audit/record.ts';
import { recordEvent } from '../event/outbox.ts';
import { formatId } from '../ids.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import type { SerialQueue } from '../serial-queue.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import { inTransaction } from '../storage/sql/transaction.ts';
import { type LockedCustomer, lockCustomer } from './lock-customer.ts';
import { type DataKey, openDataKey } from './personal-data.ts';

type Identity = {
  /** UUID. */
  readonly id: string;
  /** The current and former email addresses of the customer, as lower() of PostgreSQL returns them. */
  readonly emails: readonly string[];
};

type LockedSessions = {
  /** UUIDs. */
  readonly ids: readonly string[];
  /** What the sessions contain about the customer. */
  readonly values: readonly string[];
};

/**
 * Locks the charge sessions of a customer: those with one of the email addresses, in any case, and those in
 * which the customer bought an offer.
 */
export type LockSessions = (client: PoolClient, customer: Identity) => Promise<LockedSessions>;

/** What the modules erase. */
export type ErasedCustomer = {
  /** UUID. */
  readonly id: string;
  /** UUIDs of the customer's charge sessions, which are locked. */
  readonly sessionIds: readonly string[];
  /** The current and former names, email addresses and external references, and what the sessions contain. */
  readonly values: readonly string[];
};

/** Erases the personal data that a module stores, and resolves with counts for the audit log. */
export type ErasePersonalData = (client: PoolClient, customer: ErasedCustomer) => Promise<Facts>;

export type EraseOptions = Pick<ModuleDependencies, 'db' | 'sealer' | 'clock'> & {
  readonly lockSessions: LockSessions;
  /** In order. The last one may take a lock for which all hubs wait. */
  readonly erasers: readonly ErasePersonalData[];
  /** Runs one erasure at a time. */
  readonly queue: SerialQueue;
};

/** The default timeout is too short for a customer with many sessions. */
const STATEMENT_TIMEOUT_MS = 5 * 60_000;

/** Creates the function that erases a customer, once. It rejects with HubError `customer_unknown`. */
export function createErase({ db, sealer, clock, lockSessions, erasers, queue }: EraseOptions) {
  return (customerId: string, actor: Actor): Promise<void> =>
    queue(() =>
      inTransaction(
        db.pool,
        async (client) => {
          const customer = await lockCustomer(client, customerId);
          if (customer.isErased) return;
          const { id } = customer;
          const { emails, values } = await collectPersonalData(client, sealer, customer);
          const sessions = await lockSessions(client, { id, emails });
          await eraseCustomer(client, id, clock());
          const erased = { id, sessionIds: sessions.ids, values: [...values, ...sessions.values] };
          const counts: Facts[] = [];
          for (const erase of erasers) counts.push(await erase(client, erased));
          // Not the time of the erasure above: the erasers may take long.
          const now = clock();
          await recordEvent(client, now, { type: 'customer.erased', objectId: customer.id });
          await recordChangeNow(client, actor, now, {
            action: 'customer.erase',
            subject: customerId,
            before: { erased: false },
            after: { erased: true },
            detail: Object.assign({}, ...counts),
          });
        },
        { statementTimeoutMs: STATEMENT_TIMEOUT_MS },
      ),
    );
}

async function collectPersonalData(
  client: ClientBase,
  sealer: Sealer,
  { id, name, email, externalRef, sealedDataKey }: LockedCustomer,
): Promise<Pick<Identity, 'emails'> & { readonly values: readonly string[] }> {
  const key = sealedDataKey === null ? undefined : openDataKey(sealer, id, sealedDataKey);
  const former = key === undefined ? [] : await readFormerValues(client, id, key);
  const formerEmails = former.flatMap((facts) =>
    typeof facts['email'] === 'string' ? [facts['email']] : [],
  );
  const emails = await readEmails(client, id, email, formerEmails);
  const names = [name, externalRef, ...former.flatMap((facts) => [facts['name'], facts['externalRef']])];
  const values = [...emails, ...names.filter((each) => typeof each === 'string' && each !== '')];
  return { emails, values: values as string[] };
}

/** Reads the values before each update, from the last 1000 that the audit log still has. */
async function readFormerValues(client: ClientBase, id: string, key: DataKey): Promise<Facts[]> {
  const { rows } = await client.query<{ before: Facts }>({
    name: 'former_customer_values',
    // audit_entry_subject_idx
    text: `select before from audit_entry
           where subject = $1 and action = 'customer.update' and before is not null
           order by id desc limit 1000`,
    values: [formatId('cus', id)],
  });
  return rows.map(({ before }) => key.openFacts(before));
}

/**
 * Returns the email addresses in lower case, without former ones that now belong to another customer.
 * PostgreSQL compares the addresses later, and it lowers some letters differently from JavaScript.
 */
async function readEmails(
  client: ClientBase,
  id: string,
  current: string | null,
  former: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ email: string }>({
    name: 'emails_to_erase',
    // customer_email_idx
    text: `select lower($2) as email where $2 is not null
           union
           select lower(f.email) from unnest($3::text[]) as f (email)
           where not exists (select from customer c where lower(c.email) = lower(f.email) and c.id <> $1)`,
    values: [id, current, former],
  });
  return rows.map(({ email }) => email);
}

async function eraseCustomer(client: ClientBase, id: string, at: Date): Promise<void> {
  await client.query({
    name: 'erase_customer',
    // customer_pkey. Deleting the key makes the sealed values in the audit log unreadable.
    text: `update customer
           set name = '', email = null, external_ref = null, metadata = '{}', sealed_data_key = null,
               erased_at = $2
           where id = $1`,
    values: [id, at],
  });
  await client.query({
    name: 'erase_request_hashes',
    // idempotent_request_customer_idx. A hash would reveal a guessed name or email.
    text: 'update idempotent_request set request_hash = null where customer_id = $1',
    values: [id],
  });
}
