// The statements that write a settlement: the session, the provider calls, the usage log and the fee lines.
//
// The first payment of a session is a usage log entry of kind `payment` with the session's id. A `reversal`
// takes back an earlier payment, and a payment after a reversal is a `later_payment`. Each is written under
// the session's lock, and never changed.

import type { PoolClient, QueryConfig } from 'pg';
import type { Actor } from '../../access/caller.ts';
import type { Change } from '../../audit/record.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { Write } from '../../storage/sql/transaction.ts';
import type { Fees } from '../fees/rules.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { SessionUpdate, Usage } from './decide.ts';
import type { Finding } from './finding.ts';
import type { SessionState } from './status-machine.ts';

/** The actor of settlements in the audit log. */
export const SETTLEMENT: Actor = { kind: 'hub', name: 'settlement', requestId: '' };

export type SettledSession = {
  readonly id: string;
  readonly next: SessionState;
  readonly update: SessionUpdate;
  /** Whose verification lease ends with the settlement. */
  readonly leaseHolder: string | undefined;
};

/** The sessions are locked, and each occurs once. */
export function updateSessions(sessions: readonly SettledSession[], at: Date): Write {
  return {
    // charge_session_pkey. A paid session needs no further verification; an unpaid one may still be paid.
    text: `update charge_session c
           set status = t.status, status_verified = t.verified, status_claims = t.claims,
               status_reason = coalesce(t.reason, c.status_reason),
               status_changed_at = case when c.status = t.status then c.status_changed_at else $3 end,
               gateway_transaction_id = coalesce(t.gateway_transaction_id, c.gateway_transaction_id),
               provider_payment_id = coalesce(c.provider_payment_id, t.provider_payment_id),
               checkout_url = coalesce(c.checkout_url, t.checkout_url),
               risk_level = case when t.is_rated then t.risk_level else c.risk_level end,
               risk_title = case when t.is_rated then t.risk_title else c.risk_title end,
               next_check_at = case
                 when t.status = 'success' then case when c.status = 'success' then c.next_check_at end
                 when t.checkout_url is not null then t.check_at
                 when t.is_held then coalesce(c.next_check_at, $3)
                 else least(c.next_check_at, t.check_at) end,
               held_at = case when t.status = 'pending' then
                 case when t.is_held then coalesce(c.held_at, $3) else c.held_at end end,
               risk_released_at = case when t.status in ('pending', 'success') then c.risk_released_at end,
               other_payment_since = case when t.status = 'success' then c.other_payment_since end,
               verifying_by = nullif(c.verifying_by, t.lease_holder),
               verifying_until = case when c.verifying_by is distinct from t.lease_holder
                 then c.verifying_until end
           from jsonb_to_recordset($1::jsonb) as t (
             id uuid, status text, verified boolean, claims int, reason text, gateway_transaction_id text,
             provider_payment_id text, checkout_url text, is_rated boolean, risk_level int, risk_title text,
             is_held boolean, check_at timestamptz, lease_holder uuid)
           where c.id = t.id and c.id = any($2)`,
    values: [JSON.stringify(sessions.map(rowOf)), sessions.map(({ id }) => id), at],
  };
}

function rowOf({ id, next, update, leaseHolder }: SettledSession) {
  return {
    id,
    status: next.status,
    verified: next.verified,
    claims: next.claims,
    reason: update.reason,
    gateway_transaction_id: update.gatewayTransactionId,
    provider_payment_id: update.checkout?.providerPaymentId,
    checkout_url: update.checkout?.checkoutUrl,
    is_rated: update.rating !== undefined,
    risk_level: update.rating?.risk?.level,
    risk_title: update.rating?.risk?.title,
    is_held: update.isHeld,
    check_at: update.checkAt,
    lease_holder: leaseHolder,
  };
}

export function recordSteps(
  findings: readonly Pick<Finding, 'sessionId' | 'callbackIds' | 'steps'>[],
): QueryConfig {
  const rows = findings.flatMap(({ sessionId, callbackIds: [callbackId = null], steps }) =>
    steps.map((step) => ({ ...step, sessionId, callbackId })),
  );
  return {
    name: 'record_steps',
    text: `insert into verification (id, session_id, callback_id, operation, outcome, detail, asked_at,
                                     duration_ms)
           select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[],
                                $7::timestamptz[], $8::int[])`,
    values: [
      rows.map(() => newUuid()),
      rows.map((row) => row.sessionId),
      rows.map((row) => row.callbackId),
      rows.map((row) => row.operation),
      rows.map((row) => row.outcome),
      rows.map((row) => row.detail),
      rows.map((row) => row.askedAt),
      rows.map((row) => Math.round(row.durationMs)),
    ],
  };
}

export type UsageEntry = Usage & {
  readonly id: string;
  readonly session: StoredSession;
  readonly fees: Fees;
};

const NO_FEES: Fees = { lines: [], totalMinor: 0n };

/** Without `fees` there are no fee lines: providers keep the fees of a reversed payment. */
export function usageEntry(
  { kind, gatewayTransactionId }: Usage,
  session: StoredSession,
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
