// Reads orders, as operators, events and order pages show them.
import type { Pool } from 'pg';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import type { Money } from '../../payment/money.ts';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import type { OrderStateName } from '../entities.ts';
import {
  LICENSES_OF_ORDER,
  type OrderLicense,
  type OrderLicenseRow,
  orderLicenseOf,
} from './order-licenses.ts';

/** Ids are UUIDs. */
export type StoredOrder = {
  readonly id: string;
  readonly sessionId: string;
  /** Slug. */
  readonly app: string;
  readonly appName: string;
  readonly slot: string;
  /** `app/slug` */
  readonly offer: string;
  readonly offerId: string;
  readonly offerVersion: number;
  /** The name that customers see. */
  readonly offerName: string;
  readonly downloadUrl: string;
  readonly quantity: number;
  readonly amount: Money;
  readonly customerId: string | null;
  readonly state: OrderStateName;
  /** Why it is blocked or refunded, and what the hub left unchanged. */
  readonly reason: string;
  readonly licenses: readonly OrderLicense[];
  readonly createdAt: Date;
  readonly fulfilledAt: Date | null;
  readonly refundedAt: Date | null;
};

type Row = Omit<StoredOrder, 'amount' | 'licenses' | 'createdAt' | 'fulfilledAt' | 'refundedAt'> & {
  readonly amountMinor: string;
  readonly currency: string;
  readonly createdAtMs: number;
  readonly fulfilledAtMs: number | null;
  readonly refundedAtMs: number | null;
  readonly licenses: readonly OrderLicenseRow[];
};

export type OrderQuery = {
  readonly name?: string;
  /**
   * SQL after `from sales_order o` and its joins `c` (session), `v` (offer version), `f` (offer), `a` (app)
   * and `s` (slot).
   */
  readonly selection: string;
  readonly values: unknown[];
};

export async function readOrders(
  pool: Pool,
  { name, selection, values }: OrderQuery,
): Promise<StoredOrder[]> {
  const { rows } = await pool.query<Row>({
    ...(name !== undefined && { name }),
    text: `select o.id, o.session_id as "sessionId", a.slug as app, a.name as "appName", s.name as slot,
                  a.slug || '/' || f.slug as offer, f.id as "offerId", v.version as "offerVersion",
                  v.name as "offerName", v.download_url as "downloadUrl", p.quantity,
                  c.amount_minor as "amountMinor", c.currency, o.customer_id as "customerId", o.state,
                  o.reason,
                  ${epochMs('o.created_at')} as "createdAtMs",
                  ${epochMs('o.fulfilled_at')} as "fulfilledAtMs",
                  ${epochMs('o.refunded_at')} as "refundedAtMs", ${LICENSES_OF_ORDER} as licenses
           from sales_order o join purchase p on p.session_id = o.session_id
             join charge_session c on c.id = o.session_id join offer_version v on v.id = p.offer_version_id
             join offer f on f.id = v.offer_id join app a on a.id = f.app_id join slot s on s.id = o.slot_id
           ${selection}`,
    values,
  });
  return rows.map(orderOf);
}

function orderOf(row: Row): StoredOrder {
  const { amountMinor, currency, createdAtMs, fulfilledAtMs, refundedAtMs, licenses, ...rest } = row;
  return {
    ...rest,
    amount: { minor: BigInt(amountMinor), currency },
    licenses: licenses.map(orderLicenseOf),
    createdAt: new Date(createdAtMs),
    fulfilledAt: dateOf(fulfilledAtMs),
    refundedAt: dateOf(refundedAtMs),
  };
}

/** The order of the session with this UUID; undefined without one. */
export async function readOrderOfSession(pool: Pool, sessionId: string): Promise<StoredOrder | undefined> {
  const [order] = await readOrders(pool, {
    name: 'order_of_session',
    // sales_order_session_id_key
    selection: 'where o.session_id = $1',
    values: [sessionId],
  });
  return order;
}

/** The order with this UUID; undefined without one. */
export async function readOrder(pool: Pool, id: string): Promise<StoredOrder | undefined> {
  const [order] = await readOrders(pool, {
    name: 'order_by_id',
    // sales_order_pkey
    selection: 'where o.id = $1',
    values: [id],
  });
  return order;
}

/** @param order `ord_…` or `chs_…`. @throws HubError `order_unknown` */
export async function findOrder(pool: Pool, order: string): Promise<StoredOrder> {
  const [id, sessionId] = [parseId('ord', order), parseId('chs', order)];
  const found =
    id !== undefined ? await readOrder(pool, id) : sessionId && (await readOrderOfSession(pool, sessionId));
  if (found) return found;
  const message = 'there is no order with this id, and no paid session with an offer';
  throw new HubError('order_unknown', message, { field: 'order' });
}
