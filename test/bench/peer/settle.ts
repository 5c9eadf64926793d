// Settles a session of the peer in one transaction: status, usage log, fee lines, provider call, audit, event and callback;
// and the order with a new license, if the session sells an offer.
import type { Pool, PoolClient } from 'pg';
import { makeLicenses } from '../test-data.ts';
import { recordEvent } from './event.ts';
import { inTransaction } from './transaction.ts';
import type { Proof, ProviderCall, Session } from './verify.ts';

const LOCK = 'select status from charge_session where id = $1 for update';
const PAY = `update charge_session set status = 'success', settled_by = $2 where id = $1`;
const LOG = `
  insert into usage_log (session_id, gateway_transaction_id, bank_transaction_id, amount_minor, currency, settled_at)
  values ($1, $2, $3, $4, $5, now()) on conflict (session_id) do nothing`;
const FEES = `
  insert into fee_line (session_id, rule, amount_minor)
  select $1, name, round($2::bigint * basis_points / 10000.0)::bigint + fixed_minor from fee_rule on conflict do nothing`;
const CALL = `
  insert into verification (session_id, callback_id, operation, outcome, asked_at, duration_ms)
  values ($1, $2, 'validate', $3, $4, $5)`;
const AUDIT = 'insert into audit_entry (at, subject, change) values (now(), $1, $2)';
const OFFER = 'select app, seat_limit, features, valid_for::text from offer where slug = $1';
const LICENSE = `
  insert into license (id, app, key_hash, customer, seat_limit, features, valid_for)
  values ($1, $2, $3, $4, $5, $6, $7)`;
const ORDER = `
  insert into sales_order (session_id, state, created_at) values ($1, 'fulfilled', now()) returning id`;
const ORDER_LICENSE = 'insert into order_license (order_id, license_id) values ($1, $2)';
const DONE = `update callback set state = 'settled' where id = $1`;

type Paid = {
  readonly session: Session;
  readonly callbackId: string;
  readonly proof: Proof;
  /** Undefined if it is not recorded. */
  readonly call?: ProviderCall;
};

export function settle(pool: Pool, { session, callbackId, proof, call }: Paid): Promise<void> {
  const { id, amount_minor: amount, currency, offer } = session;
  const { gatewayTransactionId, bankTransactionId } = proof;
  return inTransaction(pool, async (client) => {
    const [locked] = (await client.query({ name: 'lock_session', text: LOCK, values: [id] })).rows;
    if (locked.status !== 'success') {
      await client.query({ name: 'pay', text: PAY, values: [id, gatewayTransactionId] });
      const log = [id, gatewayTransactionId, bankTransactionId, amount, currency];
      await client.query({ name: 'log', text: LOG, values: log });
      await client.query({ name: 'fees', text: FEES, values: [id, amount] });
      if (call !== undefined) {
        const values = [id, callbackId, call.outcome, call.askedAt, call.durationMs];
        await client.query({ name: 'call', text: CALL, values });
      }
      const change = { before: locked.status, after: 'success' };
      await client.query({ name: 'audit', text: AUDIT, values: [id, change] });
      await recordEvent(client, 'session.succeeded', id);
      if (offer !== null) await fulfill(client, session, offer);
    }
    await client.query({ name: 'done', text: DONE, values: [callbackId] });
  });
}

async function fulfill(client: PoolClient, { id, customer }: Session, slug: string): Promise<void> {
  const [offer] = (await client.query({ name: 'offer', text: OFFER, values: [slug] })).rows;
  const [license] = makeLicenses(1);
  if (license === undefined) throw new Error('unreachable: one license was made');
  const { licenseId, keyHash } = license;
  const terms = [offer.app, keyHash, customer, offer.seat_limit, offer.features, offer.valid_for];
  await client.query({ name: 'license', text: LICENSE, values: [licenseId, ...terms] });
  const [order] = (await client.query({ name: 'order', text: ORDER, values: [id] })).rows;
  await client.query({ name: 'order_license', text: ORDER_LICENSE, values: [order.id, licenseId] });
  const change = { session: id, licenses: [licenseId] };
  await client.query({ name: 'audit', text: AUDIT, values: [order.id, change] });
  await recordEvent(client, 'license.issued', licenseId);
  await recordEvent(client, 'order.fulfilled', order.id);
}
