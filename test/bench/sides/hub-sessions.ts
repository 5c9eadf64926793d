// Inserts pending charge sessions into a hub's database, with a purchase if they sell something.
import { query } from '../../support/postgres/databases.ts';
import type { SessionData } from '../test-data.ts';

/** The sessions are for 100.00 BDT. `slot` is the name of their slot. */
export async function insertSessions(
  databaseUrl: string,
  slot: string,
  sessions: readonly SessionData[],
): Promise<void> {
  await query(
    databaseUrl,
    `insert into charge_session (id, slot_id, status, status_reason, status_changed_at, amount_minor, currency,
                                 order_reference, customer, metadata, merchant_transaction_id, provider_payment_id,
                                 checkout_url, created_at, next_check_at, checks)
     select t.id, slot.id, 'pending', '', now(), 10000, 'BDT', '', '{}', '{}', t.transaction_id, t.payment_id,
            'http://provider/checkout', now(), now() + interval '30 minutes', 0
     from unnest($1::uuid[], $2::text[], $3::text[]) as t (id, transaction_id, payment_id), slot where slot.name = $4`,
    [
      sessions.map(({ uuid }) => uuid),
      sessions.map(({ transactionId }) => transactionId),
      sessions.map(({ providerPaymentId }) => providerPaymentId),
      slot,
    ],
  );
}

export type Purchase = { readonly session: SessionData; readonly customerUuid: string };

/** Each session sells one unit of the offer with this slug. */
export async function insertPurchases(
  databaseUrl: string,
  offer: string,
  purchases: readonly Purchase[],
): Promise<void> {
  const inserted = await query(
    databaseUrl,
    `with sold as (
       update charge_session c set has_purchase = true
       from unnest($1::uuid[], $2::uuid[]) as t (session_id, customer_id)
       where c.id = t.session_id returning t.session_id, t.customer_id
     )
     insert into purchase (session_id, offer_version_id, quantity, customer_id)
     select sold.session_id, v.id, 1, sold.customer_id
     from sold, offer o join offer_version v on v.offer_id = o.id and v.version = o.version where o.slug = $3
     returning session_id`,
    [purchases.map(({ session }) => session.uuid), purchases.map(({ customerUuid }) => customerUuid), offer],
  );
  if (inserted.length !== purchases.length) throw new Error(`the offer ${offer} or a session is missing`);
}
