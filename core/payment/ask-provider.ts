// Asks the provider what became of a session, one question at a time, and settles by the answer.

import { questions } from '../../tracing/channels.ts';
import { formatId } from '../ids.ts';
import type { FindSession } from './find-session.ts';
import { namedBy } from './other-payments.ts';
import type { PaymentMeter } from './payment-meter.ts';
import type { PaymentDriver, ProviderAccess } from './provider.ts';
import {
  ProviderUnavailable,
  type Verdict,
  type VerificationQuestion,
  type VerificationStep,
} from './provider.ts';
import type { QuestionGate } from './question-gate.ts';
import { withholdRisky } from './risk.ts';
import type { SessionFacts } from './session-facts.ts';
import type { createRecordSteps, Settle } from './settle.ts';
import { type Finding, PAID_BEFORE, type Settlement } from './settlement.ts';
import type { Lease, TakenLease, VerificationLease } from './verification-lease.ts';
import { commonValidationId, type WaitingCallback, type WaitingCallbacks } from './waiting-callbacks.ts';

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
  readonly settle: Settle;
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
  return async (inquiry) => {
    const asked = (await guard(options, inquiry)) ?? (await askUnderLease(options, inquiry)) ?? BUSY;
    if (asked.kind === 'busy' || asked.kind === 'spent') options.meter.putOff(asked.kind);
    return asked;
  };
}

/** Answers before the lease is taken if no question is needed: a flood of callbacks only reads. */
async function guard(options: AskOptions, inquiry: Inquiry): Promise<Asked | undefined> {
  if (inquiry.lease !== undefined) return undefined;
  return answerUnasked(options, inquiry, inquiry.session ?? (await readSession(options, inquiry)));
}

const BUSY: Asked = { kind: 'busy' };
/** The lease was lost before the answer could be settled: the provider is asked again. */
const FENCED = Symbol('the verification lease was lost');
/** Each time somebody else has taken the lease meanwhile, and has asked as well. */
const MOST_REPEATS = 3;

/** Asks while nobody else asks about the session; undefined if somebody else does. */
async function askUnderLease(options: AskOptions, inquiry: Inquiry): Promise<Asked | undefined> {
  let asked = await takeLease(options, inquiry);
  for (let repeats = 0; asked === FENCED && repeats < MOST_REPEATS; repeats++) {
    const session = await readSession(options, inquiry);
    asked =
      (await answerUnasked(options, inquiry, session)) ??
      (await takeLease(options, { ...inquiry, lease: undefined }));
  }
  return asked === FENCED ? undefined : asked;
}

function takeLease(options: AskOptions, inquiry: Inquiry): Promise<Asked | typeof FENCED | undefined> {
  const { sessionId, lease: taken, budgeted = false, waitMs = 0 } = inquiry;
  return options.lease.run(sessionId, {
    work: (lease) => ask(options, inquiry, lease),
    inVain: async () => answerUnasked(options, inquiry, await readSession(options, inquiry)),
    taken,
    budgeted,
    waitMs,
  });
}

async function ask(options: AskOptions, inquiry: Inquiry, lease: Lease): Promise<Asked | typeof FENCED> {
  const { session } = lease;
  if (needsNoQuestion(inquiry, session)) return settlePaidBefore(options, session.id, ownCallback(inquiry));
  const steps: VerificationStep[] = [];
  const opening = options.providers.forSlot(session.slotId, (step) => steps.push(step));
  opening.catch(() => {}); // awaited in verify
  const round = { ...(await gatherCallbacks(options, inquiry)), steps, sessionId: session.id };
  try {
    const answer = await verify(options, lease, opening, questionOf(session, round.validationId));
    return await settle(options, lease, round, answer);
  } catch (error) {
    if (error instanceof ProviderUnavailable) return putOff(options, round, error.message);
    await options.waiting.putOff(session.id, round.others, HUB_IN_TROUBLE);
    throw error;
  }
}

/** One question: the callbacks that its answer is for, and the calls it took. */
type Round = {
  readonly sessionId: string;
  /** All of them: the callback that makes somebody ask comes first. */
  readonly callbacks: readonly WaitingCallback[];
  /** Those that waited. */
  readonly others: readonly WaitingCallback[];
  /** The validation id to ask about first, if there is one. */
  readonly validationId: string | undefined;
  readonly steps: readonly VerificationStep[];
};

/** Before the question: its answer may be older than a callback that comes while it is asked. */
async function gatherCallbacks(
  { waiting }: AskOptions,
  { sessionId, callback }: Inquiry,
): Promise<Pick<Round, 'callbacks' | 'others' | 'validationId'>> {
  const others = (await waiting.of(sessionId)).filter(({ id }) => id !== callback?.id);
  const callbacks = callback ? [callback, ...others] : others;
  return { callbacks, others, validationId: callback?.validationId ?? commonValidationId(others) };
}

function verify(
  { gate, meter }: AskOptions,
  { session: { id, slot }, within }: Lease,
  opening: ReturnType<Providers['forSlot']>,
  question: VerificationQuestion,
): Promise<Verdict> {
  const call = async (): Promise<Verdict> => {
    const { driver, access } = await opening;
    return driver.verify({ ...access, http: within(access.http) }, question);
  };
  return questions.tracePromise(() => gate.pass(slot, () => meter.verification(slot, call)), {
    slot,
    sessionId: () => formatId('chs', id),
  });
}

async function settle(
  options: AskOptions,
  { session, fence, ended }: Lease,
  round: Round,
  answer: Verdict,
): Promise<Asked | typeof FENCED> {
  const verdict = withoutCheckout(session, answer) ?? withholdRisky(session, answer) ?? answer;
  const settlement = await options.settle({ ...findingOf(round), verdict, fence });
  ended();
  if (settlement === undefined) return FENCED;
  return { kind: 'settled', settlement, steps: round.steps };
}

/** The provider did not answer: the callbacks wait for the next question. */
async function putOff(options: AskOptions, round: Round, reason: string): Promise<Asked> {
  const { sessionId, callbacks, steps } = round;
  await options.recordSteps(findingOf(round));
  const { paid, nextInMs } = await options.waiting.putOff(sessionId, callbacks, reason);
  if (paid) return settlePaidBefore(options, sessionId, callbacks);
  return { kind: 'unavailable', reason, steps, nextInMs };
}

/** The answer if no question is needed, or if callbacks have caused enough of them. */
async function answerUnasked(
  options: AskOptions,
  inquiry: Inquiry,
  session: SessionFacts,
): Promise<Asked | undefined> {
  if (needsNoQuestion(inquiry, session)) return settlePaidBefore(options, session.id, ownCallback(inquiry));
  const { questionInMs } = session;
  return inquiry.budgeted && questionInMs > 0 ? { kind: 'spent', nextInMs: questionInMs } : undefined;
}

function needsNoQuestion({ evenIfPaid = false }: Inquiry, { status }: SessionFacts): boolean {
  return status === 'success' && !evenIfPaid;
}

async function settlePaidBefore(
  options: AskOptions,
  sessionId: string,
  callbacks: readonly WaitingCallback[],
): Promise<Asked> {
  const finding = findingOf({ sessionId, callbacks, steps: [] });
  const settlement = await options.settle({ ...finding, verdict: PAID_BEFORE });
  return { kind: 'settled', settlement, steps: [] };
}

async function readSession({ findSession }: AskOptions, { sessionId }: Inquiry): Promise<SessionFacts> {
  const session = await findSession.byId(sessionId);
  if (session === undefined) throw new Error(`charge session ${sessionId} is gone`);
  return session;
}

function ownCallback({ callback }: Inquiry): readonly WaitingCallback[] {
  return callback ? [callback] : [];
}

function findingOf({
  sessionId,
  callbacks,
  steps,
}: Pick<Round, 'sessionId' | 'callbacks' | 'steps'>): Omit<Finding, 'verdict' | 'fence'> {
  return {
    sessionId,
    callbackIds: callbacks.map(({ id }) => id),
    namedPayments: namedBy(callbacks),
    steps,
  };
}

/** Nobody can pay what has no checkout. One that is made later, by a repeat of the call, gives it another chance. */
function withoutCheckout({ providerPaymentId }: SessionFacts, { kind }: Verdict): Verdict | undefined {
  if (kind !== 'pending' || providerPaymentId !== undefined) return undefined;
  return { kind: 'not_paid', status: 'failed', detail: 'no checkout was made' };
}

/** What the journal says of a callback that came to nothing for a reason of the hub's own. */
export const HUB_IN_TROUBLE = 'the hub could not deal with it: see its log';

function questionOf(session: SessionFacts, validationId: string | undefined): VerificationQuestion {
  return {
    merchantTransactionId: session.merchantTransactionId,
    providerPaymentId: session.providerPaymentId ?? '',
    amount: session.amount,
    settled: session.status === 'success',
    ...(validationId && { validationId }),
  };
}
