// Decides whether an operator has to review a partial refund: the hub takes back licenses for full refunds
// only.
import type { PoolClient } from 'pg';
import { formatId } from '../../ids.ts';
import type { Sales } from '../../payment/order-interface.ts';

type Row = {
  readonly id: string;
  readonly quantity: number;
  readonly amountMinor: string;
  readonly kind: 'license' | 'renewal' | 'seats';
};

const UNITS = {
  license: (units: number, of: number) =>
    `the price of ${units} of ${of} licenses: suspend or revoke those that the customer gives back`,
  renewal: (units: number, of: number) =>
    `the price of ${units} of ${of} periods: ` +
    'change the expiry of the license if the customer gives them back',
  seats: (units: number, of: number) =>
    `the price of ${units} of ${of} packs of seats: lower the seat limit if the customer gives them back`,
} as const;

/** Needs review if the refunds cover some of several units. A smaller refund is a discount. */
export const reviewPartialRefund: Sales['reviewPartialRefund'] = async (client, sessionId, refundedMinor) => {
  const row = await readOrder(client, sessionId);
  if (row === undefined) return undefined;
  const { id, quantity, kind } = row;
  const amount = BigInt(row.amountMinor);
  const units = Number((refundedMinor * BigInt(quantity)) / amount);
  if (units < 1 || units >= quantity) return undefined;
  return `the refunds of order ${formatId('ord', id)} cover ${UNITS[kind](units, quantity)}`;
};

/** The fulfilled order of a session, unless its offer keeps the licenses on a refund. */
async function readOrder(client: PoolClient, sessionId: string): Promise<Row | undefined> {
  const { rows } = await client.query<Row>({
    name: 'read_partially_refunded_order',
    // sales_order_session_id_key
    text: `select o.id, p.quantity, c.amount_minor as "amountMinor", v.granted->>'kind' as kind
           from sales_order o join purchase p on p.session_id = o.session_id
             join charge_session c on c.id = o.session_id join offer_version v on v.id = p.offer_version_id
           where o.session_id = $1 and o.state = 'fulfilled' and v.on_refund <> 'keep'`,
    values: [sessionId],
  });
  return rows[0];
}
