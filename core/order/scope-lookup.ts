// Looks up the app and the slot of offers and orders, for tokens that are limited to them.
import type { Pool, QueryConfig } from 'pg';
import type { FindOwner } from '../access/scope.ts';
import { parseId } from '../ids.ts';
import { parseOfferRef } from './offers/find-offer.ts';

export function createFindOrderOwner(pool: Pool): Pick<FindOwner, 'offer' | 'orderApp' | 'orderSlot'> {
  const findOwner = async (statement: QueryConfig): Promise<string | undefined> => {
    const { rows } = await pool.query<{ owner: string }>(statement);
    return rows[0]?.owner;
  };
  /** @param owner SQL of the name of the owner */
  const ofOrder =
    ({ name, owner }: { readonly name: string; readonly owner: string }) =>
    (order: string) =>
      findOwner({
        name,
        // sales_order_pkey, sales_order_session_id_key
        text: `select ${owner} as owner from sales_order o
                 join app a on a.id = o.app_id join slot s on s.id = o.slot_id
               where o.id = $1 or o.session_id = $2`,
        values: [parseId('ord', order) ?? null, parseId('chs', order) ?? null],
      });
  return {
    async offer(text) {
      const ref = parseOfferRef(text);
      if (ref === undefined) return undefined;
      return findOwner({
        name: 'app_of_offer',
        // offer_pkey, offer_slug_key
        text: `select a.slug as owner from offer f join app a on a.id = f.app_id
               where f.id = $1 or (a.slug = $2 and f.slug = $3)`,
        values: 'id' in ref ? [ref.id, null, null] : [null, ref.app, ref.slug],
      });
    },
    orderApp: ofOrder({ name: 'app_of_order', owner: 'a.slug' }),
    orderSlot: ofOrder({ name: 'slot_of_order', owner: 's.name' }),
  };
}
