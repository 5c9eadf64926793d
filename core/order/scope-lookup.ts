// Looks up the app and the slot of offers and orders, for tokens that are limited to them.
import type { Pool } from 'pg';
import type { FindOwner } from '../access/scope.ts';
import { parseId } from '../ids.ts';
import { parseOfferRef } from './offers/offer-ref.ts';

export function createFindOrderOwner(pool: Pool): Pick<FindOwner, 'offer' | 'orderApp' | 'orderSlot'> {
  const findOwner = async (name: string, text: string, values: unknown[]): Promise<string | undefined> => {
    const { rows } = await pool.query<{ owner: string }>({ name, text, values });
    return rows[0]?.owner;
  };
  /** @param owner SQL of the name of the owner */
  const ofOrder = (name: string, owner: string) => (order: string) =>
    findOwner(
      name,
      // sales_order_pkey, sales_order_session_id_key
      `select ${owner} as owner from sales_order o join app a on a.id = o.app_id join slot s on s.id = o.slot_id
       where o.id = $1 or o.session_id = $2`,
      [parseId('ord', order) ?? null, parseId('chs', order) ?? null],
    );
  return {
    async offer(text) {
      const ref = parseOfferRef(text);
      if (ref === undefined) return undefined;
      return findOwner(
        'app_of_offer',
        // offer_pkey, offer_slug_key
        `select a.slug as owner from offer f join app a on a.id = f.app_id
         where f.id = $1 or (a.slug = $2 and f.slug = $3)`,
        'id' in ref ? [ref.id, null, null] : [null, ref.app, ref.slug],
      );
    },
    orderApp: ofOrder('app_of_order', 'a.slug'),
    orderSlot: ofOrder('slot_of_order', 's.name'),
  };
}
