// Reads the orders of events.
import type { Pool } from 'pg';
import { OrderSchema } from '../../gen/hub/order/v1/order_pb.ts';
import { type ObjectReaders, showObject } from '../event/read-objects.ts';
import { orderToProto } from './messages.ts';
import { readOrders } from './orders/read-orders.ts';

export function createOrderReader(pool: Pool): Pick<ObjectReaders, 'order'> {
  return {
    async order(ids) {
      const orders = await readOrders(pool, {
        name: 'orders_by_id',
        selection: 'where o.id = any($1)',
        values: [ids],
      });
      return new Map(
        orders.map((order) => [order.id, { data: showObject(OrderSchema, orderToProto(order)) }]),
      );
    },
  };
}
