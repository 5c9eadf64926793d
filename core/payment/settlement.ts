// What a settlement is about, and what is noted of each: shared by those of one session, and of many.
import type { QueryConfig } from 'pg';
import type { Change } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import { formatId, newUuid } from '../ids.ts';
import type { ChargeStatusName } from './entities.ts';
import type { Outcome } from './journal.ts';
import { formatMoney } from './money.ts';
import type { SessionState } from './next-state.ts';
import type { NamedPayments } from './other-payments.ts';
import type { Checkout, Verdict, VerificationStep } from './provider.ts';
import type { Held } from './risk.ts';
import type { SessionFacts } from './session-facts.ts';
import type { Fence } from './verification-lease.ts';

/** A finding about a session, and the callbacks on whose behalf it was made, if there are any. */
export type Finding = {
  readonly sessionId: string;
  readonly callbackIds: readonly string[];
  readonly steps: readonly VerificationStep[];
  readonly verdict: Verdict | Held | Claimed | CheckoutMade | CheckoutRefused | typeof PAID_BEFORE;
  /** Of the lease under which the provider was asked: the settlement compares its fencing number, and ends it. */
  readonly fence?: Fence;
  /** By the callbacks. */
  readonly namedPayments?: NamedPayments;
};

/** The session was paid already when the callback came, and nobody was asked. */
export const PAID_BEFORE = { kind: 'paid_before', detail: 'the session is paid already' } as const;

/** What a callback said, and nobody was asked about. */
type Claimed = {
  readonly kind: 'claimed';
  readonly status: 'failed' | 'cancelled';
  readonly detail: string;
};

export type CheckoutMade = {
  readonly kind: 'checkout_made';
  readonly checkout: Checkout;
  /** When the sweep asks about it first; undefined if it does not. */
  readonly checkAt: Date | undefined;
  readonly detail: string;
};

type CheckoutRefused = { readonly kind: 'checkout_refused'; readonly detail: string };

export type Settlement = {
  /** What came of the callbacks. */
  readonly outcome: Outcome;
  /** Whether the session's status is another one now, or verified now. */
  readonly changed: boolean;
  /** The status, if it is another one now. */
  readonly became?: ChargeStatusName;
};

/** Whether somebody else took the lease since: the answer is older than one that may be settled already. */
export function isFenced({ fence }: Pick<Finding, 'fence'>, { fencingNumber }: SessionFacts): boolean {
  return fence !== undefined && fence.fencingNumber !== fencingNumber;
}

export const SETTLEMENT: Actor = { kind: 'hub', name: 'settlement', requestId: '' };

export type Cause = {
  readonly reason: string;
  /** Of several that get the same answer, the one that made somebody ask, or waited longest. */
  readonly callbackId: string | undefined;
};

/** The story of the session is told by these entries: see audit-trail.ts. */
export function settlementChange(
  session: SessionFacts,
  next: SessionState,
  { reason, callbackId }: Cause,
): Change {
  return {
    action: 'charge_session.settle',
    subject: formatId('chs', session.id),
    before: { status: session.status, verified: session.verified },
    after: { status: next.status, verified: next.verified, reason },
    detail: {
      amount: formatMoney(session.amount),
      ...(callbackId !== undefined && { callback: formatId('cb', callbackId) }),
    },
  };
}

/** Notes what providers were asked, if they were. */
export function recordSteps(findings: readonly Omit<Finding, 'verdict'>[]): QueryConfig {
  const steps = findings.flatMap(({ sessionId, callbackIds: [callbackId = null], steps: asked }) =>
    asked.map((step) => ({ ...step, sessionId, callbackId })),
  );
  return {
    name: 'record_steps',
    text: `insert into verification (id, session_id, callback_id, operation, outcome, detail, asked_at, duration_ms)
           select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
                                $8::int[])`,
    values: [
      steps.map(() => newUuid()),
      steps.map((step) => step.sessionId),
      steps.map((step) => step.callbackId),
      steps.map((step) => step.operation),
      steps.map((step) => step.outcome),
      steps.map((step) => step.detail),
      steps.map((step) => step.askedAt),
      steps.map((step) => Math.round(step.durationMs)),
    ],
  };
}
