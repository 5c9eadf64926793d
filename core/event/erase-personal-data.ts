// Erases the personal data of a customer from events and deliveries. The events then show the current
// objects.
import type { ErasePersonalData } from '../customer/erase-customer.ts';
import { takeLock } from '../storage/hub-lock.ts';

/**
 * Erases the stored data of the customer's events, and the answers of endpoints, which may repeat the data.
 * Later deliveries contain the erased object. Claims are lost: a delivery that a hub has read but not yet
 * attempted is not sent. A request in progress is not aborted; its answer is not stored, and the event is
 * delivered again.
 */
export const eraseEvents: ErasePersonalData = async (client, { id, sessionIds }) => {
  // The transaction that numbers events reads objects before it stores them. Wait for its end. No hub numbers
  // events from now until the commit.
  await takeLock(client, 'event_counter');
  const { rows } = await client.query<{ events: number }>({
    name: 'erase_events',
    // event_data_customer_idx, license_customer_idx, callback_session_idx, refund_session_idx,
    // event_object_idx, event_data_pkey, event_delivery_pkey. OFFSET 0 keeps the order of the joins.
    text: `with objects as (
             select $1::uuid as id
             union all
             select id from license where customer_id = $1
             union all
             (with own as (select unnest($2::uuid[]) as id)
              select id from own
              union all
              select c.id from own cross join lateral (
                select id from callback where session_id = own.id
                union all
                select id from refund where session_id = own.id offset 0) c)
           ), found as materialized (
             select event_id as id from event_data where customer_id = $1
             union
             select e.id from objects o cross join lateral (
               select id from event where object_id = o.id offset 0) e
           ), answered as (
             update event_delivery
             set response_body = null,
                 next_attempt_at = case when state = 'pending'
             then next_attempt_at + interval '1 millisecond' end
             where event_id = any(array(select id from found))
             and (response_body is not null or state = 'pending')
           ), erased as (
             delete from event_data where event_id = any(array(select id from found)) returning 1
           )
           select count(*)::int as events from erased`,
    values: [id, sessionIds],
  });
  return { events: rows[0]?.events ?? 0 };
};
