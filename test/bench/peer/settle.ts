// Settles a session of the peer in one transaction: status, usage log, fee lines, audit and callback.
import type { Pool } from 'pg';
import { inTransaction } from './transaction.ts';
import type { Proof, Session } from './verify.ts';

const LOCK = 'select status from charge_session where id = $1 for update';
const PAY = `update charge_session set status = 'success', settled_by = $2 where id = $1`;
const LOG = `
  insert into usage_log (session_id, gateway_transaction_id, bank_transaction_id, amount_minor, currency, settled_at)
  values ($1, $2, $3, $4, $5, now()) on conflict (session_id) do nothing`;
const FEES = `
  insert into fee_line (session_id, rule, amount_minor)
  select $1, name, round($2::bigint * basis_points / 10000.0)::bigint + fixed_minor from fee_rule on conflict do nothing`;
const AUDIT = 'insert into audit (at, subject, change) values (now(), $1, $2)';
const DONE = `update callback set state = 'settled' where id = $1`;

type Paid = { readonly session: Session; readonly callbackId: string; readonly proof: Proof };

export function settle(pool: Pool, { session, callbackId, proof }: Paid): Promise<void> {
  const { id, amount_minor: amount, currency } = session;
  const { gatewayTransactionId, bankTransactionId } = proof;
  return inTransaction(pool, async (client) => {
    const [locked] = (await client.query({ name: 'lock_session', text: LOCK, values: [id] })).rows;
    if (locked.status !== 'success') {
      await client.query({ name: 'pay', text: PAY, values: [id, gatewayTransactionId] });
      const log = [id, gatewayTransactionId, bankTransactionId, amount, currency];
      await client.query({ name: 'log', text: LOG, values: log });
      await client.query({ name: 'fees', text: FEES, values: [id, amount] });
      const change = { before: locked.status, after: 'success' };
      await client.query({ name: 'audit', text: AUDIT, values: [id, change] });
    }
    await client.query({ name: 'done', text: DONE, values: [callbackId] });
  });
}
