// Finds or creates the customer that another request describes by name and email.
import type { ClientBase } from 'pg';
import { newUuid } from '../ids.ts';

export type InlineCustomer = {
  /** Empty if the request has only an email. */
  readonly name: string;
  readonly email: string | undefined;
};

/**
 * The id of the customer with this email, or without an email of the customer who has this name and no email.
 * Creates the customer if there is none; never changes an existing one.
 */
export async function findOrCreateCustomer(
  client: ClientBase,
  { name, email }: InlineCustomer,
  now: Date,
): Promise<string> {
  // Of concurrent requests for the same customer, one creates it.
  await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `customer ${email?.toLowerCase() ?? name}`,
  ]);
  const { rows } = await client.query<{ id: string }>(
    email === undefined
      ? {
          name: 'customer_by_name',
          // customer_name_idx
          text: 'select id from customer where name = $1 and email is null order by id limit 1',
          values: [name],
        }
      : {
          name: 'customer_by_email',
          // customer_email_idx
          text: 'select id from customer where lower(email) = lower($1) order by id limit 1',
          values: [email],
        },
  );
  const [found] = rows;
  if (found !== undefined) return found.id;
  const id = newUuid();
  await client.query({
    name: 'insert_customer',
    text: 'insert into customer (id, name, email, created_at) values ($1, $2, $3, $4)',
    values: [id, name || email, email ?? null, now],
  });
  return id;
}
