// Prints an order with its licenses.
import type { Output } from '../../output/output.ts';
import { ORDER_FIELDS, ORDER_LICENSE_COLUMNS, type OrderView } from '../../views/orders/order.ts';

export async function printOrder(out: Output, order: OrderView): Promise<void> {
  await out.record(order, ORDER_FIELDS);
  await out.below(order.licenses, ORDER_LICENSE_COLUMNS);
}
