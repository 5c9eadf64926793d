// The statements that write orders and their licenses.
import type { QueryConfig } from 'pg';
import { columns } from '../../storage/sql/transaction.ts';
import { joinNotes } from '../refunds/refund-reasons.ts';
import type { OrderAttempt } from './order-attempt.ts';

/** Inserts the orders, or writes the new result of blocked ones, and of refunded ones that are paid again. */
export function writeOrders(attempts: readonly OrderAttempt[], at: Date): QueryConfig {
  return {
    name: 'write_orders',
    // sales_order_session_id_key
    text: `insert into sales_order (id, session_id, app_id, offer_id, slot_id, customer_id, state, reason,
                                    created_at, fulfilled_at)
           select t.*, $9, case when t.state = 'fulfilled' then $9::timestamptz end
           from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[],
             $8::text[])
             as t (id, session_id, app_id, offer_id, slot_id, customer_id, state, reason)
           on conflict (session_id) do update
           set state = excluded.state, reason = excluded.reason, fulfilled_at = excluded.fulfilled_at,
               -- Still needed by the next attempt: it marks what the refund suspended or revoked.
               refunded_at = case when excluded.state = 'blocked' then sales_order.refunded_at end
           where sales_order.state in ('blocked', 'refunded')`,
    values: [
      attempts.map(({ orderId }) => orderId),
      attempts.map(({ purchase }) => purchase.sessionId),
      attempts.map(({ purchase }) => purchase.app.id),
      attempts.map(({ purchase }) => purchase.offerId),
      attempts.map(({ purchase }) => purchase.slotId),
      attempts.map(({ purchase }) => purchase.customerId),
      attempts.map(({ blocked }) => (blocked === undefined ? 'fulfilled' : 'blocked')),
      attempts.map(({ blocked, notes = [] }) => blocked ?? joinNotes(notes)),
      at,
    ],
  };
}

export function insertOrderLicenses(attempts: readonly OrderAttempt[]): QueryConfig {
  const rows = attempts.flatMap(({ orderId, licenses, isAgain = false }) =>
    isAgain ? [] : licenses.map((license) => ({ orderId, ...license })),
  );
  return {
    name: 'insert_order_licenses',
    text: `insert into order_license (order_id, license_id, issued, expires_before, expires_after,
           seats_added)
           select * from unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::timestamptz[], $5::timestamptz[],
                                $6::int[])`,
    values: columns(rows, 'orderId', 'licenseId', 'issued', 'expiresBefore', 'expiresAfter', 'seatsAdded'),
  };
}
