// Reads the orders of refunded sessions, and writes what the refunds took back.
import type { PoolClient } from 'pg';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import { columns } from '../../storage/sql/transaction.ts';
import type { OrderStateName, RefundPolicyName, TakenBackName } from '../entities.ts';
import {
  LICENSES_OF_ORDER,
  type OrderLicense,
  type OrderLicenseRow,
  orderLicenseOf,
} from '../orders/order-licenses.ts';
import type { OrderGrant, Taken } from './undo-grant.ts';

/** Ids are UUIDs. */
export type RefundedOrder = {
  readonly id: string;
  readonly sessionId: string;
  readonly appId: string;
  readonly slotId: string;
  /** `app/slug` */
  readonly offer: string;
  readonly quantity: number;
  readonly policy: RefundPolicyName;
  readonly state: OrderStateName;
  readonly reason: string;
  readonly grantedAt: Date | null;
  readonly licenses: readonly OrderLicense[];
};

type Row = Omit<RefundedOrder, 'grantedAt' | 'licenses'> & {
  readonly grantedAtMs: number | null;
  readonly licenses: readonly OrderLicenseRow[];
};

/** Locks the orders of sessions that the caller has locked, in the order of the session ids. */
export async function lockOrders(
  client: PoolClient,
  sessionIds: readonly string[],
): Promise<readonly RefundedOrder[]> {
  const { rows } = await client.query<Row>({
    name: 'lock_orders',
    // sales_order_session_id_key, purchase_pkey
    text: `select o.id, o.session_id as "sessionId", o.app_id as "appId", o.slot_id as "slotId",
                  a.slug || '/' || f.slug as offer, p.quantity, v.on_refund as policy, o.state, o.reason,
                  ${epochMs('o.fulfilled_at')} as "grantedAtMs", ${LICENSES_OF_ORDER} as licenses
           from sales_order o join purchase p on p.session_id = o.session_id
             join offer_version v on v.id = p.offer_version_id join offer f on f.id = v.offer_id
             join app a on a.id = f.app_id
           where o.session_id = any($1) order by o.session_id for no key update of o`,
    values: [sessionIds],
  });
  return rows.map(({ grantedAtMs, licenses, ...rest }) => ({
    ...rest,
    grantedAt: dateOf(grantedAtMs),
    licenses: licenses.map(orderLicenseOf),
  }));
}

/** The grants of other orders to a locked license that no refund took back. */
export async function readOtherGrants(
  client: PoolClient,
  licenseId: string,
  orderId: string,
): Promise<readonly OrderGrant[]> {
  const { rows } = await client.query<{
    beforeMs: number | null;
    afterMs: number | null;
    seatsAdded: number;
    grantedAtMs: number;
  }>({
    name: 'read_other_grants',
    // order_license_license_idx, sales_order_pkey
    text: `select ${epochMs('l.expires_before')} as "beforeMs", ${epochMs('l.expires_after')} as "afterMs",
                  l.seats_added as "seatsAdded",
                  ${epochMs('coalesce(o.fulfilled_at, o.created_at)')} as "grantedAtMs"
           from order_license l join sales_order o on o.id = l.order_id
           where l.license_id = $1 and l.order_id <> $2 and not l.issued
             and (l.taken_back is null or l.taken_back = 'kept')`,
    values: [licenseId, orderId],
  });
  return rows.map(({ beforeMs, afterMs, seatsAdded, grantedAtMs }) => ({
    expiresBefore: dateOf(beforeMs),
    expiresAfter: dateOf(afterMs),
    seatsAdded,
    grantedAt: new Date(grantedAtMs),
  }));
}

export type TakenLicense = Taken & { readonly licenseId: string; readonly takenBack: TakenBackName };

/** Sets an order to refunded. */
export async function writeRefundedOrder(
  client: PoolClient,
  { id }: Pick<RefundedOrder, 'id'>,
  { reason, licenses, at }: { reason: string; licenses: readonly TakenLicense[]; at: Date },
): Promise<void> {
  await client.query({
    name: 'write_refunded_order',
    // sales_order_pkey. An order that is blocked since an earlier reversal keeps its time, which marks what
    // that reversal suspended or revoked.
    text: `update sales_order set state = 'refunded', reason = $2, refunded_at = coalesce(refunded_at, $3)
           where id = $1`,
    values: [id, reason, at],
  });
  await client.query({
    name: 'write_taken_licenses',
    // order_license_pkey
    text: `update order_license l
           set taken_back = t.taken_back, seats_taken = t.seats_taken, time_taken_ms = t.time_taken_ms
           from unnest($2::uuid[], $3::text[], $4::int[], $5::bigint[])
             as t (license_id, taken_back, seats_taken, time_taken_ms)
           where l.order_id = $1 and l.license_id = t.license_id`,
    values: [id, ...columns(licenses, 'licenseId', 'takenBack', 'seatsTaken', 'timeTakenMs')],
  });
}
