// Asks the provider what became of a session, one question at a time, and settles by the answer.

import { questions } from '../../tracing/channels.ts';
import { formatId } from '../ids.ts';
import type { FindSession } from './find-session.ts';
import type { PaymentMeter } from './payment-meter.ts';
import type { PaymentDriver, ProviderAccess } from './provider.ts';
import {
  ProviderUnavailable,
  type Verdict,
  type VerificationQuestion,
  type VerificationStep,
} from './provider.ts';
import type { QuestionGate } from './question-gate.ts';
import type { SessionFacts } from './session-facts.ts';
import type { createRecordSteps, createSettle } from './settle.ts';
import { PAID_BEFORE, type Settlement } from './settlement.ts';
import type { Lease, TakenLease, VerificationLease } from './verification-lease.ts';
import { commonProof, type WaitingCallback, type WaitingCallbacks } from './waiting-callbacks.ts';

/** The driver of a slot, and what it works with. */
export type Providers = {
  forSlot(
    slotId: string,
    observe: (step: VerificationStep) => void,
  ): Promise<{ readonly driver: PaymentDriver; readonly access: ProviderAccess }>;
};

export type Asked =
  | { readonly kind: 'settled'; readonly settlement: Settlement; readonly steps: readonly VerificationStep[] }
  /** The provider did not answer; the session is as it was. */
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly steps: readonly VerificationStep[];
      /** When callbacks that wait for the answer want it to be asked again; undefined if none do. */
      readonly nextInMs?: number | undefined;
    }
  /** Somebody else is asking about this session right now. */
  | { readonly kind: 'busy' }
  /** Callbacks have caused enough questions about this session; the next may be asked in so many milliseconds. */
  | { readonly kind: 'spent'; readonly nextInMs: number };

export type AskOptions = {
  readonly findSession: FindSession;
  readonly lease: VerificationLease;
  readonly gate: QuestionGate;
  readonly providers: Providers;
  readonly settle: ReturnType<typeof createSettle>;
  readonly recordSteps: ReturnType<typeof createRecordSteps>;
  readonly waiting: WaitingCallbacks;
  readonly meter: PaymentMeter;
};

export type Inquiry = {
  readonly sessionId: string;
  /** As it was read a moment ago; saves reading it before the lease is taken. */
  readonly session?: SessionFacts;
  /** The lease of the session, if it was taken before. */
  readonly lease?: TakenLease | undefined;
  /** The callback that makes somebody ask; besides it, all that wait get the same answer. */
  readonly callback?: WaitingCallback;
  /** Ask about a paid session as well, to find out whether it was reversed. */
  readonly evenIfPaid?: boolean;
  /** Ask only as far as the session's budget of questions goes. Strangers can cause these; no others need it. */
  readonly budgeted?: boolean;
  /** Milliseconds to wait for somebody else who is asking about the session; 0 if not given. */
  readonly waitMs?: number;
};

export type AskProvider = (inquiry: Inquiry) => Promise<Asked>;

/** Rejects only for what is neither the provider's nor the session's fault. */
export function createAskProvider(options: AskOptions): AskProvider {
  const { findSession, lease, gate, providers, settle, recordSteps, waiting, meter } = options;
  return async ({
    sessionId,
    session: known,
    lease: taken,
    callback,
    evenIfPaid = false,
    budgeted = false,
    waitMs = 0,
  }) => {
    const read = async (): Promise<SessionFacts> => {
      const session = await findSession.byId(sessionId);
      if (session === undefined) throw new Error(`charge session ${sessionId} is gone`);
      return session;
    };
    const paidBefore = async (callbacks: readonly WaitingCallback[]): Promise<Asked> => {
      const callbackIds = callbacks.map(({ id }) => id);
      return {
        kind: 'settled',
        settlement: await settle({ sessionId, callbackIds, steps: [], verdict: PAID_BEFORE }),
        steps: [],
      };
    };
    /** What is to be said without a question. */
    const unasked = async ({ status, questionInMs }: SessionFacts): Promise<Asked | undefined> => {
      if (status === 'success' && !evenIfPaid) return paidBefore(callback ? [callback] : []);
      return budgeted && questionInMs > 0 ? { kind: 'spent', nextInMs: questionInMs } : undefined;
    };
    const steps: VerificationStep[] = [];
    const ask = async ({ session, within, holder, ended }: Lease): Promise<Asked> => {
      if (session.status === 'success' && !evenIfPaid) return paidBefore(callback ? [callback] : []);
      const opening = providers.forSlot(session.slotId, (step) => steps.push(step));
      opening.catch(() => {}); // seen to below
      // Before the question: what comes while it is asked might not be answered by it.
      const others = (await waiting.of(sessionId)).filter(({ id }) => id !== callback?.id);
      const callbacks = callback ? [callback, ...others] : others;
      const finding = { sessionId, callbackIds: callbacks.map(({ id }) => id), steps };
      try {
        const question = questionOf(session, callback?.proof ?? commonProof(others));
        const verify = async () => {
          const { driver, access } = await opening;
          return driver.verify({ ...access, http: within(access.http) }, question);
        };
        const answer = await questions.tracePromise(
          () => gate.pass(session.slot, () => meter.verification(session.slot, verify)),
          { slot: session.slot, sessionId: () => formatId('chs', sessionId) },
        );
        const verdict = withoutCheckout(session, answer) ?? answer;
        const settlement = await settle({ ...finding, verdict, holder });
        ended();
        return { kind: 'settled', settlement, steps };
      } catch (error) {
        if (!(error instanceof ProviderUnavailable)) {
          await waiting.putOff(sessionId, others, HUB_IN_TROUBLE);
          throw error;
        }
        await recordSteps(finding);
        const { paid, nextInMs } = await waiting.putOff(sessionId, callbacks, error.message);
        return paid ? paidBefore(callbacks) : { kind: 'unavailable', reason: error.message, steps, nextInMs };
      }
    };
    const inVain = async () => unasked(await read());
    // Before the lease, too: a flood of callbacks then only reads.
    const before = taken === undefined ? await unasked(known ?? (await read())) : undefined;
    const asked: Asked = before ??
      (await lease.run(sessionId, { work: ask, waitMs, inVain, taken, budgeted })) ?? { kind: 'busy' };
    if (asked.kind === 'busy' || asked.kind === 'spent') meter.putOff(asked.kind);
    return asked;
  };
}

/** Nobody can pay what has no checkout. One that is made later, by a repeat of the call, gives it another chance. */
function withoutCheckout({ providerPaymentId }: SessionFacts, { kind }: Verdict): Verdict | undefined {
  if (kind !== 'pending' || providerPaymentId !== undefined) return undefined;
  return { kind: 'not_paid', status: 'failed', detail: 'no checkout was made' };
}

/** What the journal says of a callback that came to nothing for a reason of the hub's own. */
export const HUB_IN_TROUBLE = 'the hub could not deal with it: see its log';

function questionOf(session: SessionFacts, proof: string | undefined): VerificationQuestion {
  return {
    merchantTransactionId: session.merchantTransactionId,
    providerPaymentId: session.providerPaymentId ?? '',
    amount: session.amount,
    settled: session.status === 'success',
    ...(proof && { proof }),
  };
}
