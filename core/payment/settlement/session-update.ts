// The statement that writes settled sessions.

import type { Write } from '../../storage/sql/transaction.ts';
import type { Checkout, Risk } from '../providers/driver.ts';
import type { SessionState } from './status-machine.ts';

/** Columns to change besides the state. */
export type SessionUpdate = {
  readonly reason?: string;
  /** The payment that settles the session. */
  readonly gatewayTransactionId?: string;
  /** The provider's rating of the verified payment; `risk` is undefined if the provider does not rate it. */
  readonly rating?: { readonly risk: Risk | undefined };
  /** Hold the session for review. The sweep verifies it again, because the rating may change. */
  readonly isHeld?: true;
  /**
   * When the sweep verifies the session at the latest. With `checkout`: exactly then, or never if undefined.
   */
  readonly checkAt?: Date | undefined;
  readonly checkout?: Checkout;
};

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
