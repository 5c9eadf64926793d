// Looks up the app and the slot of offers and orders, for tokens that are limited to them.
import type { Pool } from 'pg';
import { createOwnerLookup } from '../access/owner-lookup.ts';
import type { FindOwner } from '../access/scope.ts';
import { parseOfferRef } from './offers/find-offer.ts';

export function createFindOrderOwner(pool: Pool): Pick<FindOwner, 'offer' | 'orderApp' | 'orderSlot'> {
  /** By the id of the order or of its session (sales_order_pkey, sales_order_session_id_key). */
  const ofOrder = (owner: 'app.slug' | 'slot.name', orders: string) => {
    const { byId } = createOwnerLookup(pool, owner);
    const byOrder = byId('ord', `${orders} where o.id`);
    const bySession = byId('chs', `${orders} where o.session_id`);
    return async (order: string) => (await byOrder(order)) ?? bySession(order);
  };
  return {
    async offer(text) {
      const ref = parseOfferRef(text);
      if (ref === undefined) return undefined;
      const { rows } = await pool.query<{ owner: string }>({
        name: 'app_of_offer',
        // offer_pkey, offer_slug_key
        text: `select a.slug as owner from offer f join app a on a.id = f.app_id
               where f.id = $1 or (a.slug = $2 and f.slug = $3)`,
        values: 'id' in ref ? [ref.id, null, null] : [null, ref.app, ref.slug],
      });
      return rows[0]?.owner;
    },
    orderApp: ofOrder('app.slug', 'app join sales_order o on o.app_id = app.id'),
    orderSlot: ofOrder('slot.name', 'slot join sales_order o on o.slot_id = slot.id'),
  };
}
