// Decides the verdict on a provider's answer, and what a finding changes about its session: with the status
// machine of charge sessions. Pure: reads and writes nothing.
import type { Change } from '../../audit/record.ts';
import { formatId } from '../../ids.ts';
import type { ChargeStatusName, UsageKindName } from '../entities.ts';
import { formatMoney, type Money } from '../money.ts';
import type { Checkout, Risk, Verdict } from '../providers/driver.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import { EARLY_CHECK_MS } from '../verification/sweep-schedule.ts';
import { type Finding, type Held, type Outcome, PAID_BEFORE } from './finding.ts';

/** Returns `answer`, unless the session has no checkout or the payment is held. */
export function verdictOf(session: StoredSession, answer: Verdict): Verdict | Held {
  return withoutCheckout(session, answer) ?? holdRisky(session, answer) ?? answer;
}

/** Nobody can pay without a checkout. A repeated call that creates one sets the session to pending again. */
function withoutCheckout({ providerPaymentId }: StoredSession, { kind }: Verdict): Verdict | undefined {
  if (kind !== 'pending' || providerPaymentId !== undefined) return undefined;
  return { kind: 'not_paid', status: 'failed', detail: 'no checkout was created' };
}

/**
 * Returns a hold for a verified payment that its slot must not settle yet. Unrated payments are held too: the
 * query API of some accounts omits the rating, and a forged callback can make the hub use that API.
 */
function holdRisky(
  { status, holdsRisky }: { readonly status: ChargeStatusName; readonly holdsRisky: boolean },
  verdict: Verdict,
): Held | undefined {
  if (!holdsRisky || status === 'success' || verdict.kind !== 'paid') return undefined;
  const { risk } = verdict;
  if (risk?.level === 0) return undefined;
  const rating = risk ? `risk_level ${riskText(risk)}` : 'the provider does not rate its risk';
  return { kind: 'held', risk, detail: `held for review: ${verdict.detail}, ${rating}` };
}

function riskText({ level, title }: Risk): string {
  return title === '' ? String(level) : `${level} (${title})`;
}

export type Decision = {
  readonly outcome: Outcome;
  /** The session's state after the settlement. */
  readonly next: SessionState;
  /** Whether the status changed or became verified. */
  readonly changed: boolean;
  readonly update: SessionUpdate;
  /** The audit entry of a new status or status reason. */
  readonly change?: Change;
  /** The usage log entry to add. */
  readonly usage?: Usage;
};

/** A payment for the usage log, or a reversal. */
export type Usage = {
  readonly kind: Exclude<UsageKindName, 'refund'>;
  readonly gatewayTransactionId: string;
  /** Negative for a reversal. */
  readonly amountMinor: bigint;
  /** What the provider says the vendor receives of a payment. */
  readonly received?: Money;
};

/** Columns to change besides the state. */
export type SessionUpdate = {
  readonly reason?: string;
  /** The payment that settles the session. */
  readonly gatewayTransactionId?: string;
  readonly bankTransactionId?: string | undefined;
  /**
   * What has been refunded of the payment that settles the session, in minor units. Missing if the update
   * settles nothing.
   */
  readonly refundedMinor?: bigint;
  /** The provider's rating of the verified payment; `risk` is undefined if the provider does not rate it. */
  readonly rating?: { readonly risk: Risk | undefined };
  /** Hold the session for review. The sweep verifies it again, because the rating may change. */
  readonly isHeld?: true;
  /**
   * The latest time at which the sweep verifies the session. With `checkout`: the exact time, or undefined
   * for never.
   */
  readonly checkAt?: Date | undefined;
  readonly checkout?: Checkout;
};

/**
 * The proof of a payment. `again`: a part of it paid this session before. `used`: a part of it paid another
 * session.
 */
export type ProofState = 'new' | 'again' | 'used';

const STAYS_PAID = 'the session is paid and stays paid';
const REFUNDED = 'the payment is refunded, and the hub knows the refunds';

type Context = { readonly session: StoredSession; readonly finding: Finding; readonly at: Date };

export type Circumstances = {
  /** The state of the proof of a `paid` finding, if the session is not paid yet. */
  readonly proof?: ProofState | undefined;
  /**
   * What has been refunded of the payment that settles the session, in minor units. Set only if that is an
   * earlier payment than the last one. Undefined: the session's own sum applies.
   */
  readonly refundedMinor?: bigint | undefined;
  /** The sum of the pending refunds, for a `reversed` finding about a paid session. */
  readonly openRefundsMinor?: bigint | undefined;
};

/** `session` is locked. */
export function decide(context: Context, circumstances: Circumstances): Decision {
  const { proof, openRefundsMinor = 0n } = circumstances;
  const { session, finding, at } = context;
  const { verdict, callbackIds } = finding;
  const isPaid = session.status === 'success';
  switch (verdict.kind) {
    case 'paid_before':
      return keep(context, 'settled', verdict.detail);
    case 'paid': {
      if (isPaid) return keep(context, 'settled', PAID_BEFORE.detail);
      if (proof === 'used') return mismatch(context, 'the payment it names has paid another session');
      const { gatewayTransactionId, bankTransactionId, risk, received } = verdict;
      // The usage log cannot tell, because its first entry may have been pruned.
      const kind = session.gatewayTransactionId === undefined ? 'payment' : 'later_payment';
      // A payment that the provider confirms again after its reversal keeps its refunds.
      const refundedMinor = proof === 'again' ? (circumstances.refundedMinor ?? session.refundedMinor) : 0n;
      const decision = transition(context, 'paid', {
        gatewayTransactionId,
        bankTransactionId,
        rating: { risk },
        refundedMinor,
      });
      const amountMinor = session.amount.minor - refundedMinor;
      if (amountMinor === 0n) return decision;
      // `received` was recorded with the first settlement; recording it again would count it twice.
      const net = received !== undefined && proof === 'new' ? { received } : {};
      return { ...decision, usage: { kind, gatewayTransactionId, amountMinor, ...net } };
    }
    case 'held': {
      if (isPaid) return keep(context, 'settled', PAID_BEFORE.detail);
      // Released, or the option changed, during the verification: the next verification settles it.
      if (!session.holdsRisky) {
        const reason = "no longer held (released, or the slot's option changed): it is verified again";
        return keep(context, 'ignored', reason, { checkAt: at });
      }
      const decision = transition(context, 'held', { rating: { risk: verdict.risk }, isHeld: true });
      return decision.changed ? decision : replaceReason(context, decision, verdict.detail);
    }
    case 'not_paid':
      return isPaid ? keep(context, 'ignored', STAYS_PAID) : transition(context, verdict.status);
    case 'claimed':
      return claim(context, verdict.status);
    case 'reversed': {
      // A reversal also cancels a session whose payment the hub never recorded.
      if (!isPaid) return transition(context, 'reversed');
      const { amount, refundedMinor, gatewayTransactionId = '' } = session;
      const leftMinor = amount.minor - refundedMinor;
      if (leftMinor <= openRefundsMinor) return keep(context, 'settled', REFUNDED);
      const usage = { kind: 'reversal', gatewayTransactionId, amountMinor: -leftMinor } as const;
      return { ...transition(context, 'reversed'), usage };
    }
    case 'pending': {
      const checkAt = new Date(at.getTime() + EARLY_CHECK_MS);
      return keep(context, 'ignored', verdict.detail, callbackIds.length > 0 ? { checkAt } : {});
    }
    case 'mismatch':
      return mismatch(context, verdict.detail);
    case 'checkout_made': {
      const { checkout, checkAt, detail } = verdict;
      if (session.providerPaymentId !== undefined) return transition(context, 'checkout_made');
      const reason = session.status === 'pending' ? { reason: detail } : {};
      return transition(context, 'checkout_made', { checkout, checkAt, ...reason });
    }
    case 'checkout_refused':
      return transition(context, 'checkout_refused');
  }
}

/** The status stays. */
function keep(
  { session }: Context,
  state: Outcome['state'],
  reason: string,
  update: SessionUpdate = {},
): Decision {
  return { outcome: { state, reason, sessionId: session.id }, next: session, changed: false, update };
}

/** Applies an event to the status machine; the event may change nothing. */
function transition(context: Context, event: StatusEvent, update: SessionUpdate = {}): Decision {
  const { session, finding } = context;
  const reason = finding.verdict.detail;
  const kept = keep(context, 'settled', reason, update);
  const next = nextState(session, event);
  if (next === session) return kept;
  const change = settlementChange(session, next, reason, finding.callbackIds[0]);
  return { ...kept, next, changed: true, update: { ...update, reason }, change };
}

/** Replaces the reason of a status that stays. */
function replaceReason({ session, finding }: Context, decision: Decision, reason: string): Decision {
  if (reason === session.statusReason) return decision;
  const change = settlementChange(session, session, reason, finding.callbackIds[0]);
  return { ...decision, update: { ...decision.update, reason }, change };
}

function mismatch(context: Context, detail: string): Decision {
  const decision = keep(context, 'mismatch', detail);
  if (context.session.status === 'success') return decision;
  return replaceReason(context, decision, `a payment that does not match was found: ${detail}`);
}

function claim(context: Context, status: 'failed' | 'cancelled'): Decision {
  const { session } = context;
  const decision = transition(context, `claimed_${status}`);
  if (decision.changed || session.status === status) return decision;
  if (session.status === 'success') return keep(context, 'ignored', STAYS_PAID);
  return keep(
    context,
    'ignored',
    isContested(session)
      ? 'the callbacks of the session contradict each other'
      : 'the provider answered otherwise',
  );
}

function settlementChange(
  session: StoredSession,
  next: SessionState,
  reason: string,
  callbackId: string | undefined,
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
