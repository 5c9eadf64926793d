// Finds or creates the customer that another request, such as IssueLicenses, describes by name and email.
import type { ClientBase } from 'pg';
import { newUuid } from '../ids.ts';
import { type InsertOptions, insertCustomer } from './insert-customer.ts';

export type InlineCustomer = {
  /** Empty if the request has only an email. A new customer then has the email as the name. */
  readonly name: string;
  readonly email: string | undefined;
};

export type InlineCustomerOptions = InsertOptions & {
  /**
   * The apps that the caller's token is limited to. Only customers with a license of one of them, or with a
   * purchase of one of their offers, are found.
   * Undefined for a token without a limit.
   */
  readonly apps: readonly string[] | undefined;
};

/**
 * Finds the customer with the email; without an email, the customer that has the name and no email. Creates
 * the customer if none exists, and never changes an existing one. Returns the UUID, and locks the customer
 * against erasure until the transaction ends.
 */
export async function findOrCreateCustomer(
  client: ClientBase,
  customer: InlineCustomer,
  options: InlineCustomerOptions,
): Promise<string> {
  const { name, email } = customer;
  // Of concurrent requests for the same customer, one creates it.
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `customer ${email?.toLowerCase() ?? name}`,
  ]);
  const found = await findCustomer(client, customer, options.apps);
  if (found !== undefined) return found;
  const id = newUuid();
  // Lists and signed licenses show the name of a customer, so each customer has one.
  const data = { name: name || (email ?? ''), email: email ?? null, externalRef: null, metadata: {} };
  await insertCustomer(client, id, data, options);
  return id;
}

/** license_customer_idx, purchase_customer_idx */
const IS_VISIBLE = `
  ($2::text[] is null
   or exists (select from license l join app a on a.id = l.app_id
     where l.customer_id = c.id and a.slug = any($2))
   or exists (select from purchase p join offer_version v on v.id = p.offer_version_id
                join offer f on f.id = v.offer_id join app a on a.id = f.app_id
              where p.customer_id = c.id and a.slug = any($2)))`;

async function findCustomer(
  client: ClientBase,
  { name, email }: InlineCustomer,
  apps: readonly string[] | undefined,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    email === undefined
      ? {
          name: 'customer_by_name',
          // customer_name_idx
          text: `select c.id from customer c
                 where c.name = $1 and c.email is null and c.erased_at is null and ${IS_VISIBLE}
                 order by c.id limit 1 for share of c`,
          values: [name, apps ?? null],
        }
      : {
          name: 'customer_by_email',
          // customer_email_idx
          text: `select c.id from customer c where lower(c.email) = lower($1) and ${IS_VISIBLE}
                 order by c.id limit 1 for share of c`,
          values: [email, apps ?? null],
        },
  );
  return rows[0]?.id;
}
