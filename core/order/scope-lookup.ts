// Looks up the app and the slot of offers and orders, for tokens that are limited to them.
import type { Pool } from 'pg';
import type { FindOwner } from '../access/scope.ts';
import { parseId } from '../ids.ts';
import { isResourceName } from '../resource-name.ts';

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
      const [app = '', slug = ''] = text.split('/');
      const isName = isResourceName(app) && isResourceName(slug);
      return findOwner(
        'app_of_offer',
        // offer_pkey, offer_slug_key
        `select a.slug as owner from offer f join app a on a.id = f.app_id
         where f.id = $1 or (a.slug = $2 and f.slug = $3)`,
        [parseId('ofr', text) ?? null, isName ? app : null, isName ? slug : null],
      );
    },
    orderApp: ofOrder('app_of_order', 'a.slug'),
    orderSlot: ofOrder('slot_of_order', 's.name'),
  };
}
