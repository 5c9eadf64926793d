// Finds an order by its id, or by that of its session.
import type { Pool } from 'pg';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { readOrder, readOrderOfSession, type StoredOrder } from './read-orders.ts';

/** @param order `ord_…` or `chs_…`. @throws HubError `order_unknown` */
export async function findOrder(pool: Pool, order: string): Promise<StoredOrder> {
  const [id, sessionId] = [parseId('ord', order), parseId('chs', order)];
  const found =
    id !== undefined ? await readOrder(pool, id) : sessionId && (await readOrderOfSession(pool, sessionId));
  if (found) return found;
  throw new HubError('order_unknown', 'there is no order with this id, and no paid session with an offer', {
    field: 'order',
  });
}
