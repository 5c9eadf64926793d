// The input and the result of a settlement.
import type { Outcome } from '../callbacks/finish.ts';
import type { NamedPayments } from '../duplicates/other-payments.ts';
import type { Checkout, Verdict, VerificationStep } from '../providers/driver.ts';
import type { SessionFacts } from '../sessions/read-sessions.ts';
import type { Fence } from '../verification/lease.ts';
import type { Held } from './risk.ts';

/** A verdict on a session, and the callbacks that it answers. */
export type Finding = {
  readonly sessionId: string;
  /** The callback that triggered the verification, or the one that waited longest, comes first. */
  readonly callbackIds: readonly string[];
  readonly steps: readonly VerificationStep[];
  readonly verdict: Verdict | Held | Claimed | CheckoutMade | CheckoutRefused | typeof PAID_BEFORE;
  /** The verification lease of the provider calls. The settlement checks its fencing number and ends it. */
  readonly fence?: Fence;
  /** The payments that the callbacks name. */
  readonly namedPayments?: NamedPayments;
};

export type PaidFinding = Finding & { readonly verdict: Extract<Verdict, { kind: 'paid' }> };

/** The session is already paid, so no provider was called. */
export const PAID_BEFORE = { kind: 'paid_before', detail: 'the session is paid already' } as const;

/** An unverified claim of a callback. */
type Claimed = {
  readonly kind: 'claimed';
  readonly status: 'failed' | 'cancelled';
  readonly detail: string;
};

type CheckoutMade = {
  readonly kind: 'checkout_made';
  readonly checkout: Checkout;
  /** When the sweep first verifies the session; undefined for never. */
  readonly checkAt: Date | undefined;
  readonly detail: string;
};

type CheckoutRefused = { readonly kind: 'checkout_refused'; readonly detail: string };

export type Settlement = {
  /** The outcome of the callbacks. */
  readonly outcome: Outcome;
  /** Whether the session's status changed or became verified. */
  readonly changed: boolean;
};

export function isPaid(finding: Finding): finding is PaidFinding {
  return finding.verdict.kind === 'paid';
}

/** Whether another hub took the verification lease since. Its answer is newer than this one. */
export function isFenced({ fence }: Pick<Finding, 'fence'>, { fencingNumber }: SessionFacts): boolean {
  return fence !== undefined && fence.fencingNumber !== fencingNumber;
}
