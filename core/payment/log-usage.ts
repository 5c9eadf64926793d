// The usage log of a paid session and its fee lines: one for each session, of the payment that stands.
import type { PoolClient } from 'pg';
import type { Write } from '../storage/join-statements.ts';
import { computeFees, type Fees } from './fee-rules.ts';
import { claimProof } from './payment-proof.ts';
import type { PaymentProof } from './provider.ts';
import type { SessionFacts } from './session-facts.ts';

/**
 * Writes the usage log and its fee lines; the log has the session's id. After a reversal the log stands again if the same payment does; another
 * payment replaces it, with its own date and fees. Resolves with 'used' if the proof has paid another session.
 */
export async function logUsage(
  client: PoolClient,
  session: SessionFacts,
  proof: PaymentProof,
  at: Date,
): Promise<'logged' | 'used'> {
  if (!(await claimProof(client, session, proof))) return 'used';
  const { id: sessionId, slotId, gateway, amount } = session;
  const fees = await computeFees(client, { gateway, slotId, amount, at });
  const { rowCount } = await client.query(
    // usage_log_pkey
    `insert into usage_log (id, slot_id, gateway, gateway_transaction_id, amount_minor, currency,
                            fee_total_minor, order_reference, settled_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (id) do nothing`,
    [
      sessionId,
      slotId,
      gateway,
      proof.gatewayTransactionId,
      amount.minor,
      amount.currency,
      fees.totalMinor,
      session.orderReference,
      at,
    ],
  );
  if (rowCount === 0) await logAgain(client, session, { proof, fees, at });
  else await client.query(logFees([{ sessionId, lines: fees.lines }]));
  return 'logged';
}

/** The session was paid before, and reversed. */
async function logAgain(
  client: PoolClient,
  { id: sessionId }: SessionFacts,
  { proof, fees, at }: { proof: PaymentProof; fees: Fees; at: Date },
): Promise<void> {
  const { rowCount: same } = await client.query(
    'update usage_log set reversed_at = null where id = $1 and gateway_transaction_id = $2',
    [sessionId, proof.gatewayTransactionId],
  );
  if (same === 1) return;
  await client.query(
    `update usage_log set gateway_transaction_id = $2, fee_total_minor = $3, settled_at = $4, reversed_at = null
     where id = $1`,
    [sessionId, proof.gatewayTransactionId, fees.totalMinor, at],
  );
  await client.query('delete from fee_line where usage_log_id = $1', [sessionId]);
  await client.query(logFees([{ sessionId, lines: fees.lines }]));
}

type LoggedFees = { readonly sessionId: string; readonly lines: Fees['lines'] };

export function logFees(logged: readonly LoggedFees[]): Write {
  const all = logged.flatMap(({ sessionId, lines }) => lines.map((line) => ({ sessionId, ...line })));
  return {
    text: `insert into fee_line (usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
           select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::bigint[])`,
    values: [
      all.map((line) => line.sessionId),
      all.map((line) => line.feeRuleId),
      all.map((line) => line.rule),
      all.map((line) => line.ruleVersion),
      all.map((line) => line.amountMinor),
    ],
  };
}
