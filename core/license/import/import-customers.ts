// Finds or creates the customers of an import, many by one statement.
import type { PoolClient } from 'pg';
import { newUuid } from '../../ids.ts';
import { columns } from '../../storage/sql/transaction.ts';
import type { ImportedCustomer, ImportRow, LineError } from './check-lines.ts';

export type ImportCustomersOptions = {
  readonly client: PoolClient;
  readonly now: Date;
  /** Only customers that have a license in one of these apps are found; undefined for all. */
  readonly amongApps: readonly string[] | undefined;
};

export type CustomerIds = {
  /** In the order of the rows. Null for a row without a customer, and for a customer that was not created. */
  readonly ids: readonly (string | null)[];
  readonly errors: readonly LineError[];
};

/**
 * An external reference identifies a customer; without one the email does, without regard to case; without
 * both the name, of a customer without an email. Existing customers are never changed. A row without a
 * reference also finds a customer that an earlier row of the import creates, or a row of the same message.
 */
export function createImportCustomers({ client, now, amongApps }: ImportCustomersOptions) {
  /** Ids by identity. Null for a customer that was not created, because the import stores nothing. */
  const known = new Map<string, string | null>();
  /**
   * The identity of each new customer with a reference, by the identity that it has without the reference.
   */
  const referenced = new Map<string, string>();
  let created = 0;

  return {
    /** The number of customers that were created, or would be. */
    created: () => created,

    /** @param store Whether to create missing customers. */
    async resolve(rows: readonly ImportRow[], store: boolean): Promise<CustomerIds> {
      const wanted = new Map<string, Wanted>();
      for (const { customer, line } of rows) {
        const identity = customer && identityOf(customer);
        if (customer === undefined || identity === undefined || known.has(identity)) continue;
        if (!wanted.has(identity)) wanted.set(identity, { ...customer, identity, line });
      }
      for (const { identity, id } of await findCustomers(client, [...wanted.values()], amongApps)) {
        known.set(identity, id);
        wanted.delete(identity);
      }
      const same = sameAsReferenced(wanted, referenced);
      for (const identity of same.keys()) wanted.delete(identity);
      created += wanted.size;
      const missing = [...wanted.values()];
      const taken = store ? await insertCustomers(client, missing, now, known) : [];
      if (!store) for (const { identity } of missing) known.set(identity, null);
      for (const [identity, other] of same) known.set(identity, known.get(other) ?? null);
      return {
        ids: rows.map(({ customer }) => (customer && known.get(identityOf(customer))) ?? null),
        errors: taken.map(({ line }) => ({
          line,
          field: 'customerRef',
          message: 'belongs to a customer that this token may not see',
        })),
      };
    },
  };
}

type Wanted = ImportedCustomer & { readonly identity: string; readonly line: number };

function identityOf({ ref, email, name }: ImportedCustomer): string {
  if (ref !== '') return `ref ${ref}`;
  return email === '' ? `name ${name}` : `email ${email.toLowerCase()}`;
}

/**
 * Adds the missing customers with a reference to `referenced`. Returns, for each of the others that is the
 * same person as one with a reference, the identities of both.
 */
function sameAsReferenced(
  missing: ReadonlyMap<string, Wanted>,
  referenced: Map<string, string>,
): Map<string, string> {
  for (const { identity, ref, email, name } of missing.values()) {
    const unreferenced = identityOf({ ref: '', email, name: nameOf({ ref, email, name }) });
    if (ref !== '' && !referenced.has(unreferenced)) referenced.set(unreferenced, identity);
  }
  return new Map(
    [...missing.keys()].flatMap((identity) => {
      const other = referenced.get(identity);
      return other === undefined ? [] : [[identity, other] as const];
    }),
  );
}

function nameOf({ ref, email, name }: ImportedCustomer): string {
  return name || email || ref;
}

async function findCustomers(
  client: PoolClient,
  wanted: readonly Wanted[],
  amongApps: readonly string[] | undefined,
): Promise<{ identity: string; id: string }[]> {
  if (wanted.length === 0) return [];
  // Not a prepared statement: its plan would be made while the table is small, and kept while it grows.
  const { rows } = await client.query<{ identity: string; id: string }>({
    // customer_external_ref_key, customer_email_idx, customer_name_idx; license_customer_idx
    text: `with visible as not materialized (
             select * from customer c where $5::text[] is null or exists (
               select from license l join app a on a.id = l.app_id
               where l.customer_id = c.id and a.slug = any ($5))
           )
           select t.identity, found.id
           from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as t (identity, ref, email, name)
           cross join lateral (
             (select id from visible where t.ref <> '' and external_ref = t.ref)
             union all
             (select id from visible where t.ref = '' and t.email <> '' and lower(email) = lower(t.email)
              order by id limit 1)
             union all
             (select id from visible where t.ref = '' and t.email = '' and name = t.name and email is null
                and erased_at is null order by id limit 1)
           ) found`,
    values: [...columns(wanted, 'identity', 'ref', 'email', 'name'), amongApps ?? null],
  });
  // Prevents their erasure until the end of the transaction. A customer that was erased meanwhile is not
  // found.
  const { rows: locked } = await client.query<{ id: string }>({
    name: 'lock_customers',
    // customer_pkey
    text: 'select id from customer where id = any($1::uuid[]) and erased_at is null order by id for share',
    values: [rows.map(({ id }) => id)],
  });
  const ids = new Set(locked.map(({ id }) => id));
  return rows.filter(({ id }) => ids.has(id));
}

/** Adds the ids to `known`. Returns the customers whose external reference another customer has. */
async function insertCustomers(
  client: PoolClient,
  missing: readonly Wanted[],
  now: Date,
  known: Map<string, string | null>,
): Promise<Wanted[]> {
  if (missing.length === 0) return [];
  const ids = missing.map(() => newUuid());
  const { rows } = await client.query<{ id: string }>({
    name: 'import_customers',
    text: `with inserted as (
           insert into customer (id, name, email, external_ref, created_at)
           select id, name, nullif(email, ''), nullif(ref, ''), $5
           from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) as t (id, name, email, ref)
           on conflict (external_ref) do nothing
           returning id
           ), recorded as (
             insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
             select 'customer.created', array_agg(id), array_agg(null::uuid), array_agg(null::uuid), $5
             from inserted having count(*) > 0
           )
           select id from inserted`,
    values: [ids, missing.map(nameOf), ...columns(missing, 'email', 'ref'), now],
  });
  const inserted = new Set(rows.map(({ id }) => id));
  return missing.filter(({ identity }, place) => {
    const id = ids[place] ?? '';
    known.set(identity, inserted.has(id) ? id : null);
    return !inserted.has(id);
  });
}
