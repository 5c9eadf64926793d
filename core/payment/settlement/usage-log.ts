// Writes usage log entries and their fee lines. Entries are never changed.
//
// The first payment of a session is an entry of kind `payment` with the session's id. A `reversal` takes back
// an earlier payment, and a payment after a reversal is a `later_payment`. Each is written under the
// session's lock.
import type { PoolClient } from 'pg';
import type { Change } from '../../audit/record.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { Write } from '../../storage/sql/transaction.ts';
import type { UsageKindName } from '../entities.ts';
import type { Fees } from '../fees/rules.ts';
import type { SessionFacts } from '../sessions/read-sessions.ts';

export type UsageEntry = {
  readonly id: string;
  readonly kind: Exclude<UsageKindName, 'refund'>;
  readonly session: SessionFacts;
  readonly gatewayTransactionId: string;
  readonly fees: Fees;
};

const NO_FEES: Fees = { lines: [], totalMinor: 0n };

/** Without `fees` there are no fee lines: providers keep the fees of a reversed payment. */
export function usageEntry(
  { kind, gatewayTransactionId }: Pick<UsageEntry, 'kind' | 'gatewayTransactionId'>,
  session: SessionFacts,
  fees = NO_FEES,
): UsageEntry {
  const id = kind === 'payment' ? session.id : newUuid();
  return { id, kind, session, gatewayTransactionId, fees };
}

/** Fails with SQLSTATE 23505 if a session already has an entry of kind `payment`. */
export function logUsages(entries: readonly UsageEntry[], at: Date): Write {
  return {
    // usage_log_session_idx: a reversal takes back the latest payment, which is the first one if there is no
    // later one.
    text: `insert into usage_log (id, kind, session_id, slot_id, gateway, gateway_transaction_id,
                                  amount_minor, currency, fee_total_minor, order_reference, settled_at,
                                    reverses)
           select t.*, $11, case when t.kind = 'reversal' then coalesce((
               select u.id from usage_log u
               where u.session_id = t.session_id and u.kind <> 'payment' and u.kind = 'later_payment'
               order by u.id desc limit 1), t.session_id) end
           from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[],
                       $8::text[], $9::bigint[], $10::text[])
             as t (id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor, currency,
                   fee_total_minor, order_reference)`,
    values: [
      entries.map(({ id }) => id),
      entries.map(({ kind }) => kind),
      entries.map(({ session }) => session.id),
      entries.map(({ session }) => session.slotId),
      entries.map(({ session }) => session.gateway),
      entries.map(({ gatewayTransactionId }) => gatewayTransactionId),
      entries.map(({ kind, session: { amount } }) => (kind === 'reversal' ? -amount.minor : amount.minor)),
      entries.map(({ session }) => session.amount.currency),
      entries.map(({ fees }) => fees.totalMinor),
      entries.map(({ session }) => session.orderReference),
      at,
    ],
  };
}

export function logFees(entries: readonly UsageEntry[]): Write {
  const lines = entries.flatMap(({ id, fees }) => fees.lines.map((line) => ({ usageLogId: id, ...line })));
  return {
    text: `insert into fee_line (usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
           select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::bigint[])`,
    values: [
      lines.map((line) => line.usageLogId),
      lines.map((line) => line.feeRuleId),
      lines.map((line) => line.rule),
      lines.map((line) => line.ruleVersion),
      lines.map((line) => line.amountMinor),
    ],
  };
}

const SETTLES_NOW = 'it settles the session now';

/** A later payment that settles its session is no longer a duplicate payment. Returns the audit entries. */
export async function closeDuplicates(
  client: PoolClient,
  entries: readonly UsageEntry[],
  at: Date,
): Promise<readonly Change[]> {
  const later = entries.filter(({ kind }) => kind === 'later_payment');
  if (later.length === 0) return [];
  const { rows } = await client.query<{ id: string; sessionId: string }>(
    // duplicate_payment_transaction_key
    `update duplicate_payment d set resolved_at = $4, resolution = $5
     from unnest($1::uuid[], $2::text[], $3::text[]) as t (session_id, gateway, gateway_transaction_id)
     where d.gateway = t.gateway and d.gateway_transaction_id = t.gateway_transaction_id
       and d.resolved_at is null
     returning d.id, t.session_id as "sessionId"`,
    [
      later.map(({ session }) => session.id),
      later.map(({ session }) => session.gateway),
      later.map(({ gatewayTransactionId }) => gatewayTransactionId),
      at,
      SETTLES_NOW,
    ],
  );
  return rows.map(({ id, sessionId }) => ({
    action: 'duplicate_payment.resolve',
    subject: formatId('dup', id),
    before: { resolved: false },
    after: { resolved: true, resolution: SETTLES_NOW, session: formatId('chs', sessionId) },
  }));
}
