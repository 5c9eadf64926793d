// Writes usage log entries and their fee lines. Entries are only ever added.
//
// A session has one entry of kind `payment`, whose id is the session's. A reversal is an entry of its own that takes an
// earlier one back, and a payment after a reversal is a `later_payment`. All of them are written under the session's
// lock, one for each change of the status to success or away from it.
import type { PoolClient } from 'pg';
import { recordChangeNow } from '../access/audit.ts';
import { formatId, newUuid } from '../ids.ts';
import type { Write } from '../storage/join-statements.ts';
import type { UsageKindName } from './entities.ts';
import { computeFees, type Fees } from './fee-rules.ts';
import { claimProof } from './payment-proof.ts';
import type { PaymentProof } from './provider.ts';
import type { SessionFacts } from './session-facts.ts';
import { SETTLEMENT } from './settlement.ts';

export type UsageEntry = {
  readonly id: string;
  readonly kind: UsageKindName;
  readonly session: Pick<SessionFacts, 'id' | 'slotId' | 'gateway' | 'amount' | 'orderReference'>;
  readonly gatewayTransactionId: string;
  readonly feeTotalMinor: bigint;
};

/**
 * Writes the entry of a payment and its fee lines. A payment that stands again after its reversal costs no fees again:
 * they were charged when it was made. Resolves with 'used' if the proof has paid another session.
 */
export async function logPayment(
  client: PoolClient,
  session: SessionFacts,
  proof: PaymentProof,
  at: Date,
): Promise<'logged' | 'used'> {
  const claimed = await claimProof(client, session, proof);
  if (claimed === 'used') return 'used';
  const { id: sessionId, slotId, gateway, amount, gatewayTransactionId: paidBefore } = session;
  const fees =
    claimed === 'again'
      ? { lines: [], totalMinor: 0n }
      : await computeFees(client, { gateway, slotId, amount, at });
  const { gatewayTransactionId } = proof;
  // By the session: its entry may have been pruned.
  const entry =
    paidBefore === undefined
      ? ({ id: sessionId, kind: 'payment' } as const)
      : ({ id: newUuid(), kind: 'later_payment' } as const);
  await client.query(
    logUsages([{ ...entry, session, gatewayTransactionId, feeTotalMinor: fees.totalMinor }], at),
  );
  await client.query(logFees([{ usageLogId: entry.id, lines: fees.lines }]));
  if (entry.kind === 'later_payment') {
    await closeDuplicate(client, session, gatewayTransactionId, at);
  }
  return 'logged';
}

const SETTLES_NOW = 'it settles the session now';

/** A payment that settles the session is no duplicate any more. */
async function closeDuplicate(
  client: PoolClient,
  { id: sessionId, gateway }: SessionFacts,
  gatewayTransactionId: string,
  at: Date,
): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    // duplicate_payment_transaction_key
    `update duplicate_payment set resolved_at = $3, resolution = $4
     where gateway = $1 and gateway_transaction_id = $2 and resolved_at is null returning id`,
    [gateway, gatewayTransactionId, at, SETTLES_NOW],
  );
  for (const { id } of rows) {
    await recordChangeNow(client, SETTLEMENT, at, {
      action: 'duplicate_payment.resolve',
      subject: formatId('dup', id),
      before: { resolved: false },
      after: { resolved: true, resolution: SETTLES_NOW, session: formatId('chs', sessionId) },
    });
  }
}

/** Takes back the payment that settled the session. Providers keep their fees, so there are no fee lines. */
export async function logReversal(client: PoolClient, session: SessionFacts, at: Date): Promise<void> {
  const { id, slotId, gateway, gatewayTransactionId, amount, orderReference } = session;
  await client.query(
    // usage_log_session_idx: the latest payment, which is the first one if there is no later one
    `insert into usage_log (id, kind, session_id, reverses, slot_id, gateway, gateway_transaction_id, amount_minor,
                            currency, fee_total_minor, order_reference, settled_at)
     select $2, 'reversal', $1, coalesce((
              select u.id from usage_log u where u.session_id = $1 and u.kind <> 'payment' and u.kind = 'later_payment'
              order by u.id desc limit 1), $1::uuid),
            $3, $4, $5, -($6::bigint), $7, 0, $8, $9`,
    [
      id,
      newUuid(),
      slotId,
      gateway,
      gatewayTransactionId ?? '',
      amount.minor,
      amount.currency,
      orderReference,
      at,
    ],
  );
}

/** Fails (23505) if the session has an entry of kind `payment` already. */
export function logUsages(entries: readonly UsageEntry[], at: Date): Write {
  return {
    text: `insert into usage_log (id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor, currency,
                                  fee_total_minor, order_reference, settled_at)
           select t.*, $11 from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[],
                                       $8::text[], $9::bigint[], $10::text[]) as t`,
    values: [
      entries.map(({ id }) => id),
      entries.map(({ kind }) => kind),
      entries.map(({ session }) => session.id),
      entries.map(({ session }) => session.slotId),
      entries.map(({ session }) => session.gateway),
      entries.map(({ gatewayTransactionId }) => gatewayTransactionId),
      entries.map(({ session }) => session.amount.minor),
      entries.map(({ session }) => session.amount.currency),
      entries.map(({ feeTotalMinor }) => feeTotalMinor),
      entries.map(({ session }) => session.orderReference),
      at,
    ],
  };
}

type LoggedFees = { readonly usageLogId: string; readonly lines: Fees['lines'] };

export function logFees(logged: readonly LoggedFees[]): Write {
  const all = logged.flatMap(({ usageLogId, lines }) => lines.map((line) => ({ usageLogId, ...line })));
  return {
    text: `insert into fee_line (usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
           select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::bigint[])`,
    values: [
      all.map((line) => line.usageLogId),
      all.map((line) => line.feeRuleId),
      all.map((line) => line.rule),
      all.map((line) => line.ruleVersion),
      all.map((line) => line.amountMinor),
    ],
  };
}
