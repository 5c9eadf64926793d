// The statements of a settlement: assign the proofs of payment, write the session, the provider calls, the
// usage log and the fee lines, and finish the callbacks.
//
// A proof that has paid one session never pays another, not even after a reversal.
//
// The first payment of a session is a usage log entry of kind `payment` with the session's id. A `reversal`
// takes back what refunds left of an earlier payment, and a payment after a reversal is a `later_payment`.
// Each is written under the session's lock, and never changed.
import type { PoolClient, QueryConfig } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { newUuid } from '../../ids.ts';
import { columns, type Write } from '../../storage/sql/transaction.ts';
import {
  isUnknownCheckout,
  isUnknownPayment,
  NAMED_CHECKOUT,
  NAMED_PAYMENT,
  setOtherPayment,
  storeCheckouts,
} from '../duplicates/mark-for-check.ts';
import type { UsageKindName } from '../entities.ts';
import type { Fees } from '../fees/rules.ts';
import { driverOf } from '../providers/registry.ts';
import { FIRST_REFUND_CHECK_MS } from '../refunds/refund-and-reversal-schedule.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { SessionState, SessionUpdate, Usage } from './decide.ts';
import type { Finding, Outcome, PaidFinding } from './finding.ts';

export const SETTLEMENT: Actor = { kind: 'hub', name: 'settlement', requestId: '' };

type Proof = { readonly sessionId: string; readonly kind: string; readonly value: string };
export type AssignedProof = Proof & { readonly gateway: string };

/** Assigns proofs to the sessions; returns those that no session had. */
export async function assignProofs(
  client: PoolClient,
  findings: readonly PaidFinding[],
): Promise<readonly AssignedProof[]> {
  if (findings.length === 0) return [];
  const { rows } = await client.query<AssignedProof>({
    name: 'assign_proofs',
    // payment_proof_pkey. Concurrent settlements by the same proof wait here, all in the same order.
    text: `insert into payment_proof (gateway, kind, value, session_id)
           select s.gateway, t.kind, t.value, c.id
           from unnest($1::uuid[], $2::text[], $3::text[]) as t (session_id, kind, value)
           -- PostgreSQL may have planned this while the table was small. The second condition makes it use
           -- the index.
           join charge_session c on c.id = t.session_id and c.id = any($1) join slot s on s.id = c.slot_id
           order by s.gateway, t.kind, t.value
           on conflict do nothing returning session_id as "sessionId", gateway, kind, value`,
    values: columns(findings.flatMap(proofsOf), 'sessionId', 'kind', 'value'),
  });
  return rows;
}

export function isFullyAssigned(finding: PaidFinding, assigned: readonly AssignedProof[]): boolean {
  const own = assigned.filter(({ sessionId }) => sessionId === finding.sessionId);
  return own.length === proofsOf(finding).length;
}

export function proofsOf({ sessionId, verdict }: PaidFinding): Proof[] {
  const { gatewayTransactionId, bankTransactionId } = verdict;
  const payment = { sessionId, kind: 'payment', value: gatewayTransactionId };
  return bankTransactionId ? [{ sessionId, kind: 'bank', value: bankTransactionId }, payment] : [payment];
}

export type SettledSession = {
  readonly id: string;
  readonly gateway: string;
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
               bank_transaction_id = case when t.gateway_transaction_id is null then c.bank_transaction_id
                 else t.bank_transaction_id end,
               refunded_minor = coalesce(t.refunded_minor, c.refunded_minor),
               refund_check_at = case when t.status = 'success' then
                 case when c.status = 'success' then c.refund_check_at
                   else least(c.refund_check_at, t.refund_check_at) end end,
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
             is_held boolean, check_at timestamptz, lease_holder uuid, bank_transaction_id text,
             refunded_minor bigint, refund_check_at timestamptz)
           where c.id = t.id and c.id = any($2)`,
    values: [JSON.stringify(sessions.map((session) => rowOf(session, at))), sessions.map(({ id }) => id), at],
  };
}

function rowOf({ id, gateway, next, update, leaseHolder }: SettledSession, at: Date) {
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
    bank_transaction_id: update.bankTransactionId,
    refunded_minor: update.refundedMinor?.toString(),
    refund_check_at: next.status === 'success' ? firstRefundCheck(gateway, at) : undefined,
  };
}

function firstRefundCheck(gateway: string, paidAt: Date): Date | undefined {
  if (driverOf(gateway).refunds === undefined) return undefined;
  return new Date(paidAt.getTime() + FIRST_REFUND_CHECK_MS);
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
      ...columns(rows, 'sessionId', 'callbackId', 'operation', 'outcome', 'detail', 'askedAt'),
      rows.map(({ durationMs }) => Math.round(durationMs)),
    ],
  };
}

export type UsageEntry = Omit<Usage, 'kind'> & {
  readonly id: string;
  readonly kind: UsageKindName;
  readonly session: StoredSession;
  readonly fees: Fees;
};

const NO_FEES: Fees = { lines: [], totalMinor: 0n };

/** Without `fees` there are no fee lines: providers keep the fees of a reversed payment. */
export function usageEntry({ kind, ...usage }: Usage, session: StoredSession, fees = NO_FEES): UsageEntry {
  const id = kind === 'payment' ? session.id : newUuid();
  return { ...usage, id, kind, session, fees };
}

/** The entry of a refund has the refund's id, so that a refund has one at most. */
export function refundEntry(
  refund: { readonly id: string; readonly gatewayRefundId: string; readonly amountMinor: bigint },
  session: StoredSession,
): UsageEntry {
  const { id, gatewayRefundId: gatewayTransactionId, amountMinor } = refund;
  return { id, kind: 'refund', session, gatewayTransactionId, amountMinor: -amountMinor, fees: NO_FEES };
}

/** Fails with SQLSTATE 23505 if a session already has an entry of kind `payment`. */
export function logUsages(entries: readonly UsageEntry[], at: Date): Write {
  const sessions = entries.map(({ session }) => session);
  return {
    // `kind <> 'payment'` repeats the predicate of usage_log_session_idx, so that the planner can use this
    // partial index. A reversal takes back the latest payment: the last `later_payment`, else the first
    // payment.
    text: `insert into usage_log (id, kind, session_id, slot_id, gateway, gateway_transaction_id,
                                  amount_minor, currency, fee_total_minor, order_reference, received_minor,
                                  received_currency, settled_at, reverses)
           select t.*, $13, case when t.kind = 'reversal' then coalesce((
               select u.id from usage_log u
               where u.session_id = t.session_id and u.kind <> 'payment' and u.kind = 'later_payment'
               order by u.id desc limit 1), t.session_id) end
           from unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bigint[],
                       $8::text[], $9::bigint[], $10::text[], $11::bigint[], $12::text[])
             as t (id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor, currency,
                   fee_total_minor, order_reference, received_minor, received_currency)`,
    values: [
      ...columns(entries, 'id', 'kind'),
      ...columns(sessions, 'id', 'slotId', 'gateway'),
      ...columns(entries, 'gatewayTransactionId', 'amountMinor'),
      sessions.map(({ amount }) => amount.currency),
      entries.map(({ fees }) => fees.totalMinor),
      ...columns(sessions, 'orderReference'),
      entries.map(({ received }) => received?.minor ?? null),
      entries.map(({ received }) => received?.currency ?? null),
      at,
    ],
  };
}

export function logFees(entries: readonly UsageEntry[]): Write {
  const lines = entries.flatMap(({ id, fees }) => fees.lines.map((line) => ({ usageLogId: id, ...line })));
  return {
    text: `insert into fee_line (usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
           select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::bigint[])`,
    values: columns(lines, 'usageLogId', 'feeRuleId', 'rule', 'ruleVersion', 'amountMinor'),
  };
}

export type FinishedCallback = Outcome & { readonly id: string };

/**
 * The statement that records outcomes; `besides` adds items to its FROM clause. A settled callback stays
 * settled.
 */
export function finishing(finished: readonly FinishedCallback[], at: Date, besides = ''): Write {
  const ids = finished.map(({ id }) => id).toSorted();
  return {
    // callback_pkey. The bounds limit the partitions that PostgreSQL opens, which `= any($1)` does not.
    text: `update callback c
           set state = t.state, reason = t.reason, session_id = coalesce(t.session_id, c.session_id),
               finished_at = $5, attempts = attempts + 1
           from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[]) as t (id, state, reason,
             session_id)${besides}
           where c.id = t.id and c.id = any($1) and c.id between $6 and $7 and c.state <> 'settled'
           returning c.id, c.session_id, c.gateway, c.state`,
    values: [...columns(finished, 'id', 'state', 'reason', 'sessionId'), at, ids.at(0), ids.at(-1)],
  };
}

/**
 * Finishes the callbacks that wait for the verification of sessions that are now paid, because a paid session
 * is not verified again. If a callback names another payment, or an unjournaled one may have, the sweep looks
 * for duplicate payments. Returns the gateway and the state of each callback.
 */
export function finishWaiting(sessionIds: readonly string[], reason: string, at: Date): QueryConfig {
  return { name: 'finish_waiting', text: FINISH_WAITING, values: [sessionIds, reason, at] };
}

/** Sessions that have unjournaled callbacks (callback_count_pkey). */
const UNJOURNALED =
  'select session_id from callback_count where session_id = any($1) and asked_for_at is not null';

// callback_waiting_idx, charge_session_pkey
const FINISH_WAITING = `with finished as (
  update callback k set state = 'settled', reason = $2, finished_at = $3, attempts = attempts + 1
  where session_id = any($1) and state = 'received'
  returning session_id, gateway, ${NAMED_PAYMENT} as payment, ${NAMED_CHECKOUT} as checkout
), marked as (
  update charge_session c set ${setOtherPayment('$3')}
  from (
    select session_id from finished f
    where (${isUnknownPayment('f.gateway', 'f.payment')})
      or (${isUnknownCheckout('f.session_id', 'f.checkout')})
    union
    ${UNJOURNALED}
  ) f
  where c.id = f.session_id and c.id = any($1) and c.status = 'success'
), noted as (
  ${storeCheckouts(`select f.session_id, array_agg(f.checkout) from finished f
    join charge_session c on c.id = f.session_id
    where c.id = any($1) and c.status = 'success' and ${isUnknownCheckout('f.session_id', 'f.checkout')}
    group by f.session_id`)}
)
select gateway, 'settled' as state from finished`;

/**
 * Marks the paid sessions that have unjournaled callbacks. Such a callback may name another payment, so the
 * sweep looks for duplicate payments.
 */
export function markUnjournaled(sessionIds: readonly string[], at: Date): QueryConfig {
  return { name: 'mark_unjournaled', text: MARK_UNJOURNALED, values: [sessionIds, at] };
}

// charge_session_pkey
const MARK_UNJOURNALED = `update charge_session c set ${setOtherPayment('$2')}
  where c.status = 'success' and c.id = any(array(${UNJOURNALED}))`;
