// Reads orders, as operators, events and order pages show them.
import type { Pool } from 'pg';
import type { Money } from '../../payment/money.ts';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import type { OrderStateName } from '../entities.ts';

export type OrderLicense = {
  readonly licenseId: string;
  readonly issued: boolean;
  readonly expiresBefore: Date | null;
  readonly expiresAfter: Date | null;
  readonly seatsAdded: number;
};

/** Ids are UUIDs. */
export type StoredOrder = {
  readonly id: string;
  readonly sessionId: string;
  /** Slug. */
  readonly app: string;
  readonly appName: string;
  /** The name of the slot. */
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
  /** Why it is blocked; empty if it is fulfilled. */
  readonly reason: string;
  readonly licenses: readonly OrderLicense[];
  readonly createdAt: Date;
  readonly fulfilledAt: Date | null;
};

type Row = Omit<StoredOrder, 'amount' | 'licenses' | 'createdAt' | 'fulfilledAt'> & {
  readonly amountMinor: string;
  readonly currency: string;
  readonly createdAtMs: number;
  readonly fulfilledAtMs: number | null;
  readonly licenses: readonly {
    readonly licenseId: string;
    readonly issued: boolean;
    readonly expiresBeforeMs: number | null;
    readonly expiresAfterMs: number | null;
    readonly seatsAdded: number;
  }[];
};

/**
 * @param selection SQL after `from sales_order o` and its joins `c` (session), `v` (offer version), `f` (offer), `a`
 * (app) and `s` (slot)
 */
export async function readOrders(
  pool: Pool,
  {
    name,
    selection,
    values,
  }: { readonly name?: string; readonly selection: string; readonly values: unknown[] },
): Promise<StoredOrder[]> {
  const { rows } = await pool.query<Row>({
    ...(name !== undefined && { name }),
    // order_license_pkey
    text: `select o.id, o.session_id as "sessionId", a.slug as app, a.name as "appName", s.name as slot,
                  a.slug || '/' || f.slug as offer, f.id as "offerId", v.version as "offerVersion",
                  v.name as "offerName", v.download_url as "downloadUrl", p.quantity,
                  c.amount_minor as "amountMinor", c.currency, o.customer_id as "customerId", o.state, o.reason,
                  ${epochMs('o.created_at')} as "createdAtMs", ${epochMs('o.fulfilled_at')} as "fulfilledAtMs",
                  coalesce((select jsonb_agg(jsonb_build_object(
                      'licenseId', l.license_id, 'issued', l.issued, 'seatsAdded', l.seats_added,
                      'expiresBeforeMs', ${epochMs('l.expires_before')},
                      'expiresAfterMs', ${epochMs('l.expires_after')}) order by l.license_id)
                    from order_license l where l.order_id = o.id), '[]') as licenses
           from sales_order o join purchase p on p.session_id = o.session_id
             join charge_session c on c.id = o.session_id join offer_version v on v.id = p.offer_version_id
             join offer f on f.id = v.offer_id join app a on a.id = f.app_id join slot s on s.id = o.slot_id
           ${selection}`,
    values,
  });
  return rows.map(orderOf);
}

function orderOf({ amountMinor, currency, createdAtMs, fulfilledAtMs, licenses, ...rest }: Row): StoredOrder {
  return {
    ...rest,
    amount: { minor: BigInt(amountMinor), currency },
    licenses: licenses.map(({ expiresBeforeMs, expiresAfterMs, ...license }) => ({
      ...license,
      expiresBefore: dateOf(expiresBeforeMs),
      expiresAfter: dateOf(expiresAfterMs),
    })),
    createdAt: new Date(createdAtMs),
    fulfilledAt: dateOf(fulfilledAtMs),
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
