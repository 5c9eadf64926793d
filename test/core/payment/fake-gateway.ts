// A fake gateway for tests, its slots, and payments settled through them.
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { HubError } from '../../../core/errors.ts';
import { newUuid, parseId } from '../../../core/ids.ts';
import type { FeeLineFacts } from '../../../core/payment/fees/rules.ts';
import { type PaymentDriver, ProviderRefused } from '../../../core/payment/providers/driver.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { PaymentAdmin } from './payment-admin.ts';

const notHere = () => Promise.reject(new Error('no part of these tests'));

/** A driver of the gateway `till`, which asks `{base}/check` whether the password is right. */
export const till: PaymentDriver = {
  gateway: 'till',
  callback: { method: 'GET', acknowledgement: { body: 'ok', contentType: 'text/plain' }, reads: [] },
  credentials: ['clerk', 'password'],
  options: { receipt: ['paper', 'mail'] },
  productionUrls: ['https://till.example/api', 'https://till.example/api-2'],
  readCallback: () => ({ outcome: 'unknown', status: '' }),
  createCheckout: notHere,
  verify: notHere,
  findPayments: notHere,
  async testCredentials({ http, baseUrl, credentials }) {
    const { body } = await http.send({
      method: 'POST',
      url: `${baseUrl}/check`,
      body: credentials.reveal()['password'] ?? '',
    });
    if (body !== 'welcome') throw new ProviderRefused('the till does not know this password');
    return { detail: 'the till opened' };
  },
};

/** `till`, and its like under the name `bank`. */
export function driverOf(gateway: string): PaymentDriver {
  if (gateway === 'till') return till;
  if (gateway === 'bank') return { ...till, gateway };
  throw new HubError('gateway_unknown', 'there are till and bank', { field: 'gateway' });
}

export const CREDENTIALS = { clerk: 'Alice', password: 'open sesame' };

/** A new sandbox slot; its name and id. */
export async function addSlot({ client }: PaymentAdmin, more: { gateway?: string; baseUrl?: string } = {}) {
  const name = `slot-${randomBytes(5).toString('hex')}`;
  const { slot } = await client.addSlot({
    name,
    gateway: 'till',
    environment: SlotEnvironment.SANDBOX,
    baseUrl: 'http://127.0.0.1:9',
    credentials: CREDENTIALS,
    ...more,
  });
  const id = parseId('slot', slot?.slotId ?? '');
  if (slot === undefined || id === undefined) throw new Error('no slot was added');
  return { name, id, gateway: slot.gateway };
}

export type SettledPayment = {
  readonly slot: { readonly id: string; readonly gateway: string };
  readonly amountMinor: bigint;
  readonly currency: string;
  readonly settledAt: Date;
  readonly lines?: readonly FeeLineFacts[];
};

/** Writes a paid session with its usage log and fee lines; their id. */
export async function settle(
  pool: Pool,
  { slot, amountMinor, currency, settledAt, lines = [] }: SettledPayment,
) {
  const id = newUuid();
  const total = lines.reduce((sum, line) => sum + line.amountMinor, 0n);
  await pool.query(
    `insert into charge_session (id, slot_id, status, status_reason, status_changed_at, amount_minor, currency,
       order_reference, customer, metadata, merchant_transaction_id, created_at, checks)
     values ($1::uuid, $2, 'success', '', $3, $4, $5, 'ORD-1', '{}', '{}', $1::uuid::text, $3, 0)`,
    [id, slot.id, settledAt, amountMinor, currency],
  );
  await pool.query(
    `insert into usage_log (id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor, currency,
       fee_total_minor, order_reference, settled_at)
     values ($1::uuid, 'payment', $1::uuid, $2, $3, $1::uuid::text, $4, $5, $6, 'ORD-1', $7)`,
    [id, slot.id, slot.gateway, amountMinor, currency, total, settledAt],
  );
  for (const line of lines) {
    await pool.query(
      `insert into fee_line (usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
       values ($1, $2, $3, $4, $5)`,
      [id, line.feeRuleId, line.rule, line.ruleVersion, line.amountMinor],
    );
  }
  return { sessionId: id, usageLogId: id };
}

/** Writes the reversal of a payment that `settle` wrote. */
export async function reverse(pool: Pool, usageLogId: string, at: Date): Promise<void> {
  await pool.query(
    `insert into usage_log (id, kind, session_id, reverses, slot_id, gateway, gateway_transaction_id, amount_minor,
       currency, fee_total_minor, order_reference, settled_at)
     select $2, 'reversal', session_id, id, slot_id, gateway, gateway_transaction_id, -amount_minor, currency, 0,
       order_reference, $3 from usage_log where id = $1`,
    [usageLogId, newUuid(), at],
  );
}

/** Writes a payment after a reversal: another one, or the same again. */
export async function payLater(
  pool: Pool,
  usageLogId: string,
  { same, at }: { readonly same: boolean; readonly at: Date },
): Promise<void> {
  await pool.query(
    `insert into usage_log (id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor,
       currency, fee_total_minor, order_reference, settled_at)
     select $2::uuid, 'later_payment', session_id, slot_id, gateway,
       case when $3 then gateway_transaction_id else $2::uuid::text end, amount_minor, currency, 0, order_reference, $4
     from usage_log where id = $1`,
    [usageLogId, newUuid(), same, at],
  );
}
