// The status machine of a charge session. Only settlement uses it.
import type { ChargeStatusName } from '../entities.ts';

/** `verified`: the provider confirmed the status to the hub. The claim of a callback is not verified. */
export type SessionState = {
  readonly status: ChargeStatusName;
  readonly verified: boolean;
  /** How often a claim has changed the status. */
  readonly claims: number;
};

export type StatusEvent =
  /** An unverified callback. */
  | 'claimed_failed'
  | 'claimed_cancelled'
  /** The provider's answer. */
  | 'paid'
  | 'failed'
  | 'cancelled'
  | 'reversed'
  /** The provider's answer is a payment that the slot holds for review. */
  | 'held'
  /** The provider's answer to a request for a checkout. */
  | 'checkout_made'
  | 'checkout_refused';

/** Customers fail, retry and cancel a few times. Callbacks that keep contradicting each other are forged. */
export const MAX_CLAIMS = 5;

/**
 * Returns the state after the event; the same object if nothing changes. Callbacks can be forged, so they
 * only change a status that the provider has not confirmed, at most `MAX_CLAIMS` times. Only a reversal
 * leaves success.
 */
export function nextState(now: SessionState, event: StatusEvent): SessionState {
  const next = follow(now, event);
  return next.status === now.status && next.verified === now.verified ? now : next;
}

function follow(now: SessionState, event: StatusEvent): SessionState {
  switch (event) {
    case 'claimed_failed':
      return claimed(now, 'failed');
    case 'claimed_cancelled':
      return claimed(now, 'cancelled');
    case 'paid':
      return { ...now, status: 'success', verified: true };
    case 'failed':
    case 'cancelled':
      return now.status === 'success' ? now : { ...now, status: event, verified: true };
    case 'held':
      return now.status === 'success' ? now : { ...now, status: 'pending', verified: true };
    case 'reversed':
      return { ...now, status: 'cancelled', verified: true };
    case 'checkout_made':
      return canHaveCheckout(now) ? { ...now, status: 'pending', verified: false } : now;
    case 'checkout_refused':
      return canHaveCheckout(now) ? { ...now, status: 'failed', verified: true } : now;
  }
}

function claimed(now: SessionState, status: 'failed' | 'cancelled'): SessionState {
  if (isKnown(now) || now.status === status || isContested(now)) return now;
  return { status, verified: false, claims: now.claims + 1 };
}

/** Whether only the provider can change the status now. */
export function isContested(state: SessionState): boolean {
  return !isKnown(state) && state.claims >= MAX_CLAIMS;
}

/** Success is always verified; older hubs on the same database do not store the flag. */
function isKnown({ status, verified }: SessionState): boolean {
  return verified || status === 'success';
}

/** Whether the session can still be paid, such as one that failed because it got no checkout. */
export function canHaveCheckout({ status, verified }: Omit<SessionState, 'claims'>): boolean {
  return status === 'pending' || status === 'failed' || (status === 'cancelled' && !verified);
}
