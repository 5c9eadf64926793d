// The status machine of a charge session: what each finding makes of it. Settlement alone goes by it.
import type { ChargeStatusName } from './entities.ts';

/** `verified`: the provider itself said so in answer to the hub. A status that only a callback claimed is not. */
export type SessionState = {
  readonly status: ChargeStatusName;
  readonly verified: boolean;
  /** How often a claim has changed the status. */
  readonly claims: number;
};

export type StatusEvent =
  /** A callback said so, and nobody was asked. */
  | 'claimed_failed'
  | 'claimed_cancelled'
  /** The provider answered so. */
  | 'paid'
  | 'failed'
  | 'cancelled'
  | 'reversed'
  /** The provider answered that it is paid, and the slot holds such payments for review. */
  | 'held'
  /** What came of asking the provider for a checkout. */
  | 'checkout_made'
  | 'checkout_refused';

/** A customer fails, tries again and cancels a few times; callbacks that go on contradicting each other are forged. */
export const MOST_CLAIMS = 5;

/**
 * The state after the event; the same object if it changes nothing. Callbacks can be forged: they move only what no
 * provider has spoken about yet, and `MOST_CLAIMS` times at most. Success is left by a reversal alone.
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

/** Whether claims have had their say: only the provider is believed now. */
export function isContested(state: SessionState): boolean {
  return !isKnown(state) && state.claims >= MOST_CLAIMS;
}

/** Success always is: an older hub beside this one does not write down that it verified it. */
function isKnown({ status, verified }: SessionState): boolean {
  return verified || status === 'success';
}

/** Whether there is still something to pay: a session that failed for want of a checkout has another chance. */
export function canHaveCheckout({ status, verified }: Omit<SessionState, 'claims'>): boolean {
  return status === 'pending' || status === 'failed' || (status === 'cancelled' && !verified);
}
