// The way of one callback: from the journal to what came of it. Every step can be repeated.
import type { Clock } from '../clock.ts';
import { type AskProvider, HUB_IN_TROUBLE } from './ask-provider.ts';
import type { FindSession } from './find-session.ts';
import type { Journal, JournaledCallback, Outcome } from './journal.ts';
import { isContested } from './next-state.ts';
import { reasonIgnored } from './note-ignored.ts';
import { type FinishOtherCheckout, namedBy } from './other-payments.ts';
import type { PaymentMeter } from './payment-meter.ts';
import type { CallbackClaim } from './provider.ts';
import { readClaim } from './read-claim.ts';
import { resolveSession } from './resolve.ts';
import type { SessionFacts } from './session-facts.ts';
import type { Settle } from './settle.ts';
import { PAID_BEFORE } from './settlement.ts';
import type { WaitingCallbacks } from './waiting-callbacks.ts';

export type ProcessOptions = {
  readonly findSession: FindSession;
  readonly journal: Journal;
  readonly askProvider: AskProvider;
  readonly settle: Settle;
  readonly finishOtherCheckout: FinishOtherCheckout;
  readonly waiting: WaitingCallbacks;
  readonly meter: Pick<PaymentMeter, 'finished'>;
  readonly clock: Clock;
  /** After so long the hub gives a callback up that it cannot deal with itself. */
  readonly giveUpAfterMs: number;
  /** How long an attempt waits for somebody else who is asking about the same session. */
  readonly busyWaitMs: number;
};

/**
 * Who wants it done: the caller, who waits for his answer for a while; a job, which asks no provider, so that none
 * holds other jobs up; an operator, who may do it again, and cause any number of questions.
 */
export type Occasion = 'inline' | 'job' | 'replay';

export type ProcessCallback = {
  /** One of the journal, if it is still to be dealt with. */
  byId(callbackId: string, occasion: Exclude<Occasion, 'inline'>): Promise<void>;
  /** One that was journaled just now. */
  inline(callback: JournaledCallback): Promise<void>;
};

/** How long whoever asks about the session is left alone. */
const BUSY_MS = 1_000;

/** Resolves when the callback is dealt with, or waits for the next question about its session; else it is to be tried again. */
export function createProcessCallback(options: ProcessOptions): ProcessCallback {
  const { findSession, journal, askProvider, settle, finishOtherCheckout, waiting, meter } = options;
  const { clock, giveUpAfterMs, busyWaitMs } = options;

  const finish = async ({ id, gateway }: JournaledCallback, outcome: Outcome): Promise<void> => {
    await journal.finish(id, outcome);
    meter.finished(gateway, outcome.state, 1);
  };

  const verify = async (
    callback: JournaledCallback,
    session: SessionFacts,
    claim: CallbackClaim,
    occasion: Occasion,
  ): Promise<void> => {
    const { id, gateway, triedSince, waits, lease } = callback;
    const asking = {
      id,
      gateway,
      triedSince,
      validationId: claim.validationId,
      providerPaymentId: claim.providerPaymentId,
    };
    const leave = async (reason: string, inMs: number): Promise<void> => {
      if (await waiting.leave(session.id, [asking], { reason, inMs })) return;
      await settle({
        sessionId: session.id,
        callbackIds: [id],
        steps: [],
        verdict: PAID_BEFORE,
        namedPayments: namedBy([claim]),
      });
    };
    if (occasion === 'job') {
      // One that waits has the sweep to ask for it already.
      return waits ? undefined : leave('the provider is about to be asked', session.questionInMs);
    }
    const asked = await askProvider({
      sessionId: session.id,
      session,
      lease,
      callback: asking,
      budgeted: occasion === 'inline',
      waitMs: busyWaitMs,
    });
    if (asked.kind === 'spent') {
      await leave(
        'one of many callbacks of the session: the provider is asked about them all together',
        asked.nextInMs,
      );
    }
    if (asked.kind === 'busy') await leave('the provider is being asked about the session', BUSY_MS);
  };

  const dealWith = async (callback: JournaledCallback, occasion: Occasion): Promise<void> => {
    const { id: callbackId } = callback;
    const claim = readClaim(callback);
    if (claim === undefined) {
      return finish(callback, {
        state: 'ignored',
        reason: 'its fields are not what this gateway sends',
      });
    }
    const resolution = await resolveSession(findSession, callback, claim);
    if (resolution.kind !== 'session') {
      const sessionId = resolution.kind === 'mismatch' ? resolution.sessionId : undefined;
      return finish(callback, { state: resolution.kind, reason: resolution.reason, sessionId });
    }
    const { session } = resolution;
    switch (claim.outcome) {
      case 'ignored':
        return finish(callback, {
          state: 'ignored',
          reason: reasonIgnored(claim),
          sessionId: session.id,
        });
      case 'failed':
      case 'cancelled': {
        if (isContested(session) && session.status !== claim.outcome)
          return verify(callback, session, claim, occasion);
        // Believed without asking, as long as the provider has said nothing itself: it moves no money.
        const verdict = {
          kind: 'claimed',
          status: claim.outcome,
          detail: `a callback said ${claim.status}`,
        } as const;
        await settle({ sessionId: session.id, callbackIds: [callbackId], steps: [], verdict });
        return;
      }
      case 'paid':
      case 'unknown':
        if (namesOtherCheckout(claim, session)) {
          await finishOtherCheckout(callback, claim.providerPaymentId, {
            state: 'mismatch',
            reason: 'the session was already paid by another payment than the one this callback names',
            sessionId: session.id,
          });
          return meter.finished(callback.gateway, 'mismatch', 1);
        }
        return verify(callback, session, claim, occasion);
    }
  };

  const note = (callback: JournaledCallback): Promise<void> =>
    callback.triedSince !== undefined && clock().getTime() - callback.triedSince.getTime() >= giveUpAfterMs
      ? finish(callback, { state: 'dead', reason: `given up: ${HUB_IN_TROUBLE}` })
      : journal.postpone(callback.id, HUB_IN_TROUBLE);

  const attempt = async (callback: JournaledCallback, occasion: Occasion): Promise<void> => {
    try {
      await dealWith(callback, occasion);
    } catch (error) {
      // Not the provider's fault: a database that is away, credentials that cannot be opened, a mistake of the hub's.
      await note(callback).catch(() => {}); // for the same reason, probably, and that is the one to tell
      throw error;
    }
  };

  return {
    async byId(callbackId, occasion) {
      const callback = await journal.read(callbackId);
      if (callback === undefined || (callback.state !== 'received' && occasion !== 'replay')) return;
      await attempt(callback, occasion);
    },
    inline: (callback) => attempt(callback, 'inline'),
  };
}

/** Whether somebody may have paid a session again, in another checkout of the provider than the session's. */
function namesOtherCheckout(
  claim: CallbackClaim,
  { status, providerPaymentId }: SessionFacts,
): claim is CallbackClaim & { readonly providerPaymentId: string } {
  const named = claim.providerPaymentId;
  return status === 'success' && !!named && named !== providerPaymentId;
}
