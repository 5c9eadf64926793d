// The usage log of a paid session and its fee lines, written once.
import type { PoolClient } from 'pg';
import { newUuid } from '../ids.ts';
import { computeFees } from './fee-rules.ts';
import type { SessionFacts } from './session-facts.ts';

/**
 * Writes the usage log and its fee lines; the unique indexes see to it that a session and a proof are used once.
 * Returns 'used' if the proof has paid another session.
 */
export async function logUsage(
  client: PoolClient,
  session: SessionFacts,
  gatewayTransactionId: string,
  at: Date,
): Promise<'logged' | 'used'> {
  const { id: sessionId, slotId, gateway, amount } = session;
  const fees = await computeFees(client, { gateway, slotId, amount, at });
  const usageLogId = newUuid();
  const { rowCount } = await client.query({
    name: 'log_usage',
    text: `insert into usage_log (id, session_id, slot_id, gateway, gateway_transaction_id, amount_minor, currency,
                                  fee_total_minor, order_reference, settled_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
           on conflict do nothing`,
    values: [
      usageLogId,
      sessionId,
      slotId,
      gateway,
      gatewayTransactionId,
      amount.minor,
      amount.currency,
      fees.totalMinor,
      session.orderReference,
      at,
    ],
  });
  if (rowCount === 0) return reuseLog(client, session, gatewayTransactionId);
  await client.query({
    name: 'log_fees',
    text: `insert into fee_line (id, usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
           select t.id, $1, t.fee_rule_id, t.rule, t.rule_version, t.amount_minor
           from unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::bigint[])
             as t (id, fee_rule_id, rule, rule_version, amount_minor)`,
    values: [
      usageLogId,
      fees.lines.map(() => newUuid()),
      fees.lines.map((line) => line.feeRuleId),
      fees.lines.map((line) => line.rule),
      fees.lines.map((line) => line.ruleVersion),
      fees.lines.map((line) => line.amountMinor),
    ],
  });
  return 'logged';
}

/** The session was paid before and reversed, or the proof was used: a statement of its own sees which. */
async function reuseLog(
  client: PoolClient,
  session: SessionFacts,
  gatewayTransactionId: string,
): Promise<'logged' | 'used'> {
  const { rows } = await client.query<{ sessionId: string }>(
    'select session_id as "sessionId" from usage_log where gateway = $1 and gateway_transaction_id = $2',
    [session.gateway, gatewayTransactionId],
  );
  if (rows.some((row) => row.sessionId !== session.id)) return 'used';
  await client.query('update usage_log set reversed_at = null where session_id = $1', [session.id]);
  return 'logged';
}
