// The metrics of orders, read from their table.
import type { Figures } from '../storage/database-metrics.ts';

const BLOCKED = 'hub_orders_blocked';
const OLDEST = 'hub_orders_oldest_blocked_seconds';

const COUNTED = 10_000;

export const orderTableMetrics: Figures = {
  specs: [
    {
      name: BLOCKED,
      help:
        'Orders that the hub could not fulfill and whose payment stands; ' +
        `${COUNTED} means that many or more.`,
    },
    { name: OLDEST, help: 'Age of the oldest of them in seconds; 0 if there is none.' },
  ],
  async read(client) {
    const { rows } = await client.query<{ blocked: number; oldestSeconds: number | null }>({
      name: 'order_figures',
      // sales_order_blocked_idx. The money of a reversed payment is back with the customer.
      text: `select count(*)::int as blocked,
                    greatest(0, extract(epoch from now() - min(created_at)))::float8 as "oldestSeconds"
             from (select o.created_at from sales_order o join charge_session c on c.id = o.session_id
                  where o.state = 'blocked' and c.status = 'success' order by o.id limit ${COUNTED}) o`,
    });
    const [row] = rows;
    return { [BLOCKED]: row?.blocked ?? 0, [OLDEST]: row?.oldestSeconds ?? 0 };
  },
};
