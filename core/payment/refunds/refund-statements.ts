// The statements that write refunds.
import type { Write } from '../../storage/sql/transaction.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { RefundUpdate } from './match-refunds.ts';

/** A refund after the transaction. */
export type RecordedRefund = RefundUpdate & {
  readonly id: string;
  /** The amount that this transaction subtracts from the payment; 0 if none, or if an earlier one did. */
  readonly deductedMinor: bigint;
};

export type RefundRow = {
  readonly refund: RecordedRefund;
  /** When the hub asks about it next; undefined if it is final. */
  readonly nextCheckAt: Date | undefined;
};

/** Inserts refunds that the merchant made at the provider. */
export function insertRefunds(session: StoredSession, rows: readonly RefundRow[], at: Date): Write {
  return {
    text: `insert into refund (id, session_id, slot_id, gateway, gateway_transaction_id, kind, origin,
             amount_minor, currency, reason, state, state_reason, gateway_refund_id, review_reason,
             reviews_part, created_at, finished_at, next_check_at)
           select t.id, $1::uuid, $2::uuid, $3, $4, t.kind, 'provider', t.amount_minor, t.currency, '',
             t.state, t.state_reason, t.gateway_refund_id, coalesce(t.review_reason, ''), t.reviews_part,
             $5::timestamptz,
             case when t.state <> 'pending' then $5::timestamptz end, t.next_check_at
           from jsonb_to_recordset($6::jsonb) as t (
             id uuid, kind text, amount_minor bigint, currency text, state text, state_reason text,
             gateway_refund_id text, review_reason text, reviews_part boolean,
             next_check_at timestamptz)`,
    values: [
      session.id,
      session.slotId,
      session.gateway,
      session.gatewayTransactionId ?? '',
      at,
      JSON.stringify(rows.map(rowOf)),
    ],
  };
}

export function updateRefunds(rows: readonly RefundRow[], at: Date): Write {
  return {
    // refund_pkey. The array makes the planner use it: PostgreSQL expects more rows from the JSON.
    text: `update refund r
           set kind = t.kind, amount_minor = t.amount_minor, currency = t.currency, state = t.state,
               state_reason = t.state_reason,
               gateway_refund_id = coalesce(t.gateway_refund_id, r.gateway_refund_id),
               review_reason = coalesce(t.review_reason, r.review_reason),
               reviews_part = case when t.review_reason is null then r.reviews_part else t.reviews_part end,
               reviewed_at = case when t.review_reason is null then r.reviewed_at end,
               resolution = case when t.review_reason is null then r.resolution else '' end,
               finished_at = case when t.state = 'pending' then null
                 when r.state = t.state then r.finished_at else $2::timestamptz end,
               requested_at = case when t.request_again then null else r.requested_at end,
               missing_since = t.missing_since, next_check_at = t.next_check_at, checks = r.checks + 1
           from jsonb_to_recordset($1::jsonb) as t (
             id uuid, kind text, amount_minor bigint, currency text, state text, state_reason text,
             gateway_refund_id text, review_reason text, reviews_part boolean,
             missing_since timestamptz, next_check_at timestamptz,
             request_again boolean)
           where r.id = t.id and r.id = any($3::uuid[])`,
    values: [JSON.stringify(rows.map(rowOf)), at, rows.map(({ refund }) => refund.id)],
  };
}

/** The part of the payment that was paid back. */
export function setRefunded(sessionId: string, refundedMinor: bigint): Write {
  return {
    // charge_session_pkey
    text: `update charge_session set refunded_minor = $2::bigint
           where id = $1 and refunded_minor <> $2::bigint`,
    values: [sessionId, refundedMinor],
  };
}

function rowOf({ refund: { id, after }, nextCheckAt }: RefundRow) {
  return {
    id,
    kind: after.kind,
    amount_minor: String(after.amount.minor),
    currency: after.amount.currency,
    state: after.state,
    state_reason: after.stateReason,
    gateway_refund_id: after.gatewayRefundId,
    review_reason: after.reviewReason,
    reviews_part: after.reviewsPart ?? false,
    missing_since: after.missingSince,
    next_check_at: nextCheckAt,
    request_again: after.requestAgain ?? false,
  };
}
