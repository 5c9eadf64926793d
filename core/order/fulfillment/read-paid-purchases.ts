// Reads what paid sessions sell, with all that the grant needs.
import type { PoolClient } from 'pg';
import type { App } from '../../license/entities.ts';
import type { OrderStateName } from '../entities.ts';
import type { Grant } from '../offers/grant.ts';

/** Ids are UUIDs. */
export type PaidPurchase = {
  readonly sessionId: string;
  readonly slotId: string;
  /** `app/slug` */
  readonly offer: string;
  readonly offerId: string;
  readonly offerVersionId: string;
  readonly app: Pick<App, 'id' | 'slug' | 'defaultSeatLimit' | 'defaultLeaseDays' | 'defaultGraceDays'>;
  readonly grant: Grant;
  readonly quantity: number;
  readonly customerId: string | null;
  /** The license to change; null for new licenses. */
  readonly licenseId: string | null;
  /** The order of an earlier attempt. */
  readonly order: { readonly id: string; readonly state: OrderStateName; readonly reason: string } | null;
};

/** In the order of the session ids. The sessions are locked. */
export async function readPaidPurchases(
  client: PoolClient,
  sessionIds: readonly string[],
): Promise<readonly PaidPurchase[]> {
  const { rows } = await client.query<PaidPurchase>({
    name: 'read_paid_purchases',
    // purchase_pkey, sales_order_session_id_key
    text: `select p.session_id as "sessionId", c.slot_id as "slotId", a.slug || '/' || f.slug as offer,
                  f.id as "offerId", v.id as "offerVersionId",
                  jsonb_build_object('id', a.id, 'slug', a.slug, 'defaultSeatLimit', a.default_seat_limit,
                    'defaultLeaseDays', a.default_lease_days,
                    'defaultGraceDays', a.default_grace_days) as app,
                  v.granted as "grant", p.quantity, p.customer_id as "customerId",
                  p.license_id as "licenseId",
                  case when o.id is not null then
                    jsonb_build_object('id', o.id, 'state', o.state, 'reason', o.reason) end as "order"
           from purchase p join charge_session c on c.id = p.session_id
             join offer_version v on v.id = p.offer_version_id join offer f on f.id = v.offer_id
             join app a on a.id = f.app_id
             -- PostgreSQL may have planned this while the table was small. The second condition makes it use
             -- the index.
             left join sales_order o on o.session_id = p.session_id and o.session_id = any($1)
           where p.session_id = any($1) order by p.session_id`,
    values: [sessionIds],
  });
  return rows;
}
