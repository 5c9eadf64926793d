// Processes a journaled callback: finds its session, then settles, verifies or finishes it. Every step can be
// repeated.
import type { FinishOtherCheckout } from '../duplicates/finish-other-checkout.ts';
import type { ChargeStatusName } from '../entities.ts';
import { GIVE_UP_AFTER_MS } from '../provider-retry-delay.ts';
import type { CallbackClaim } from '../providers/driver.ts';
import { mayBePaid, reasonIgnored } from '../providers/registry.ts';
import type { RefundCallbacks } from '../refunds/refund-callbacks.ts';
import type { CreateFromSale } from '../sessions/create-from-sale.ts';
import type { FindSession } from '../sessions/look-up-sessions.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import { isContested } from '../settlement/decide.ts';
import { type Outcome, PAID_BEFORE } from '../settlement/finding.ts';
import type { Settle } from '../settlement/settle.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { VerifySession } from '../verification/verification-request.ts';
import { type Resolution, resolveSession } from './find-session-of-callback.ts';
import { agrees } from './journal.ts';
import { HUB_FAILED, type JournaledCallback, type JournaledCallbacks } from './journaled-callbacks.ts';
import type { WaitingCallback, WaitingCallbacks } from './postpone-or-give-up.ts';

export type ProcessOptions = Pick<PaymentDependencies, 'clock' | 'metrics'> & {
  readonly findSession: FindSession;
  readonly journaled: JournaledCallbacks;
  readonly verifySession: VerifySession;
  readonly settle: Settle;
  readonly finishOtherCheckout: FinishOtherCheckout;
  readonly waiting: WaitingCallbacks;
  readonly createFromSale: CreateFromSale;
  readonly refundCallbacks: Pick<RefundCallbacks, 'waitForSweep'>;
  /** Milliseconds that an attempt waits for another verification of the same session. */
  readonly busyWaitMs: number;
};

/**
 * `inline`: the sender waits for the response. `job`: leaves the verification to the sweep, and calls a
 * provider only to look up a sale made without the hub. `replay`: an operator requested it; verifies at once,
 * without the rate limit.
 */
export type Trigger = 'inline' | 'job' | 'replay';

export type ProcessCallback = ReturnType<typeof createProcessCallback>;

/** Until the next verification, if another one of the same session is running. */
const BUSY_MS = 1_000;

/**
 * Resolves when the callback is finished or waits for the next verification of its session; rejects to be
 * retried.
 */
export function createProcessCallback(options: ProcessOptions) {
  return {
    /** Reads the callback from the journal and processes it, unless it is finished and this is no replay. */
    async byId(callbackId: string, trigger: Exclude<Trigger, 'inline'>): Promise<void> {
      const callback = await options.journaled.read(callbackId);
      if (callback === undefined || (callback.state !== 'received' && trigger !== 'replay')) return;
      await attempt(options, callback, trigger);
    },
    /** Processes a callback that was just journaled. */
    inline: (callback: JournaledCallback) => attempt(options, callback, 'inline'),
  };
}

async function attempt(
  options: ProcessOptions,
  callback: JournaledCallback,
  trigger: Trigger,
): Promise<void> {
  try {
    await processOnce(options, callback, trigger);
  } catch (error) {
    // Not the provider's fault: the database is down, credentials cannot be decrypted, or a bug. Recording
    // the failed attempt probably fails for the same reason, which is the one to report.
    await recordFailure(options, callback).catch(() => {});
    throw error;
  }
}

async function processOnce(
  options: ProcessOptions,
  callback: JournaledCallback,
  trigger: Trigger,
): Promise<void> {
  const { claim } = callback;
  if (claim === undefined) {
    return finish(options, callback, {
      state: 'ignored',
      reason: 'its fields are not those that this gateway sends',
    });
  }
  const resolution = await resolve(options, callback, claim);
  if (resolution.kind !== 'session') {
    const sessionId = resolution.kind === 'mismatch' ? resolution.sessionId : undefined;
    return finish(options, callback, { state: resolution.kind, reason: resolution.reason, sessionId });
  }
  const { session } = resolution;
  if (claim.outcome === 'ignored') {
    return finish(options, callback, {
      state: 'ignored',
      reason: reasonIgnored(claim),
      sessionId: session.id,
    });
  }
  const { outcome } = claim;
  if (outcome === 'refunded') {
    if (callback.waits && trigger === 'job') return; // the refund sweep finishes it
    if (await options.refundCallbacks.waitForSweep(session.id, callback.id)) return;
    // The callback of the payment may be lost: the session is verified first.
  }
  if ((outcome === 'failed' || outcome === 'cancelled') && !isContradicted(outcome, session)) {
    // A failure moves no money: it settles the session without verification until the provider says
    // otherwise.
    const verdict = { kind: 'claimed', status: outcome, detail: `a callback said ${claim.status}` } as const;
    await options.settle({ sessionId: session.id, callbackIds: [callback.id], steps: [], verdict });
    return;
  }
  if (mayBePaid(claim) && namesOtherCheckout(claim, session)) {
    await options.finishOtherCheckout(callback, claim.providerPaymentId, {
      state: 'mismatch',
      reason: 'the session was already paid by another payment than the one this callback names',
      sessionId: session.id,
    });
    return options.metrics.finished(callback.gateway, 'mismatch', 1);
  }
  if (trigger === 'job') return deferToSweep(options, callback, claim, session);
  return verify(options, callback, claim, session, trigger);
}

/**
 * A payment without a session may be a sale made at the provider. If an offer has its price, the hub creates
 * a session for it.
 */
async function resolve(
  { findSession, createFromSale }: ProcessOptions,
  callback: JournaledCallback,
  claim: CallbackClaim,
): Promise<Resolution> {
  const { gateway, claimedSession } = callback;
  if (claimedSession !== undefined && !claim.paymentProof && agrees(claimedSession, { gateway, claim })) {
    return { kind: 'session', session: claimedSession };
  }
  const resolution = await resolveSession(findSession, callback, claim);
  const { providerPaymentId, merchantTransactionId } = claim;
  const isForeign = resolution.kind === 'unresolved' && mayBePaid(claim) && !merchantTransactionId;
  if (!isForeign || !providerPaymentId) return resolution;
  return (await createFromSale(callback, providerPaymentId)) ?? resolution;
}

async function verify(
  options: ProcessOptions,
  callback: JournaledCallback,
  claim: CallbackClaim,
  session: StoredSession,
  trigger: Trigger,
): Promise<void> {
  const result = await options.verifySession({
    sessionId: session.id,
    session,
    lease: callback.lease,
    callback: toWaiting(callback, claim),
    rateLimited: trigger === 'inline',
    waitMs: options.busyWaitMs,
  });
  if (result.kind === 'rate_limited') {
    const reason = 'one of many callbacks of the session: one verification covers them all';
    await defer(options, callback, claim, session, { reason, inMs: result.nextInMs });
  } else if (result.kind === 'busy') {
    const reason = 'a verification of the session is in progress';
    await defer(options, callback, claim, session, { reason, inMs: BUSY_MS });
  }
}

async function deferToSweep(
  options: ProcessOptions,
  callback: JournaledCallback,
  claim: CallbackClaim,
  session: StoredSession,
): Promise<void> {
  if (callback.waits) return; // the sweep knows of it
  const reason = 'waiting for the verification';
  await defer(options, callback, claim, session, { reason, inMs: session.verificationInMs });
}

/**
 * Defers the callback to the next verification of its session, or settles it if the session is paid by now.
 */
async function defer(
  { waiting, settle }: ProcessOptions,
  callback: JournaledCallback,
  claim: CallbackClaim,
  session: StoredSession,
  wait: { readonly reason: string; readonly inMs: number },
): Promise<void> {
  if (await waiting.defer(session.id, [toWaiting(callback, claim)], wait)) return;
  await settle({
    sessionId: session.id,
    callbackIds: [callback.id],
    steps: [],
    verdict: PAID_BEFORE,
    named: [claim],
  });
}

function toWaiting({ id, gateway, triedSince }: JournaledCallback, claim: CallbackClaim): WaitingCallback {
  const { validationId, providerPaymentId } = claim;
  return { id, gateway, triedSince, validationId, providerPaymentId };
}

async function finish(
  { journaled, metrics }: ProcessOptions,
  { id, gateway }: JournaledCallback,
  outcome: Outcome,
): Promise<void> {
  await journaled.finish(id, outcome);
  metrics.finished(gateway, outcome.state, 1);
}

async function recordFailure(options: ProcessOptions, callback: JournaledCallback): Promise<void> {
  const { clock, journaled } = options;
  const triedMs = callback.triedSince ? clock().getTime() - callback.triedSince.getTime() : 0;
  if (triedMs < GIVE_UP_AFTER_MS) await journaled.recordFailedAttempt(callback.id, HUB_FAILED);
  else await finish(options, callback, { state: 'dead', reason: `given up: ${HUB_FAILED}` });
}

/**
 * Whether claims about the session have contradicted each other, this one included: then only the provider
 * decides.
 */
function isContradicted(status: ChargeStatusName, session: StoredSession): boolean {
  return isContested(session) && session.status !== status;
}

/** Whether the customer may have paid the session again, in another checkout. */
function namesOtherCheckout(
  claim: CallbackClaim,
  { status, providerPaymentId }: StoredSession,
): claim is CallbackClaim & { readonly providerPaymentId: string } {
  const named = claim.providerPaymentId;
  return status === 'success' && !!named && named !== providerPaymentId;
}
