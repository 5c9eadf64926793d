// The input and the result of a settlement.
import type { PaymentName } from '../duplicates/mark-for-check.ts';
import type { CallbackStateName } from '../entities.ts';
import type { Checkout, Risk, Verdict, VerificationStep } from '../providers/driver.ts';
import type { Fence } from '../verification/lease.ts';

/** A verdict on a session, and the callbacks that it answers. */
export type Finding = {
  readonly sessionId: string;
  /** The callback that triggered the verification, or the one that waited longest, comes first. */
  readonly callbackIds: readonly string[];
  readonly steps: readonly VerificationStep[];
  readonly verdict: Verdict | Held | Claimed | CheckoutMade | CheckoutRefused | typeof PAID_BEFORE;
  /** The verification lease of the provider calls. The settlement checks its fencing number and ends it. */
  readonly fence?: Fence;
  /** The payments and checkouts that the callbacks name. */
  readonly named?: readonly PaymentName[];
};

export type PaidFinding = Finding & { readonly verdict: Extract<Verdict, { kind: 'paid' }> };

/** The session is already paid, so no provider was called. */
export const PAID_BEFORE = { kind: 'paid_before', detail: 'the session is paid already' } as const;

/** A verified payment that does not settle until an operator releases it or the provider rates it safe. */
export type Held = { readonly kind: 'held'; readonly detail: string; readonly risk: Risk | undefined };

/** An unverified claim of a callback. */
type Claimed = { readonly kind: 'claimed'; readonly status: 'failed' | 'cancelled'; readonly detail: string };

type CheckoutMade = {
  readonly kind: 'checkout_made';
  readonly checkout: Checkout;
  /** When the sweep first verifies the session; undefined for never. */
  readonly checkAt: Date | undefined;
  readonly detail: string;
};

type CheckoutRefused = { readonly kind: 'checkout_refused'; readonly detail: string };

/** The final state of a callback, and the reason that operators see. */
export type Outcome = {
  readonly state: Exclude<CallbackStateName, 'received'>;
  readonly reason: string;
  readonly sessionId?: string | undefined;
};

export type Settlement = {
  readonly outcome: Outcome;
  /** Whether the session's status changed or became verified. */
  readonly changed: boolean;
};
