// Verifies a session: calls its provider under the verification lease and settles by the answer.
import type { Pool } from 'pg';
import { inSpan } from '../../../lib/tracing/spans.ts';
import { formatId } from '../../ids.ts';
import { HUB_FAILED } from '../callbacks/journaled-callbacks.ts';
import type { GatheredCallbacks, WaitingCallback, WaitingCallbacks } from '../callbacks/waiting.ts';
import type { PaymentMetrics } from '../metrics.ts';
import {
  type ExpectedPayment,
  ProviderUnavailable,
  type Verdict,
  type VerificationStep,
} from '../providers/driver.ts';
import type { FindSession, StoredSession } from '../sessions/read-sessions.ts';
import { verdictOf } from '../settlement/decide.ts';
import { type Finding, PAID_BEFORE, type Settlement } from '../settlement/finding.ts';
import type { Settle } from '../settlement/settle.ts';
import { recordSteps } from '../settlement/statements.ts';
import type { ProviderConcurrency, Providers } from '../slots/provider-access.ts';
import type { TakenVerificationLease, VerificationLease, VerificationLeases } from './lease.ts';

export type VerifyResult =
  | {
      readonly kind: 'settled';
      readonly settlement: Settlement;
      readonly steps: readonly VerificationStep[];
      /** How long a payment that is in progress may take, if the provider says so. */
      readonly pendingUntil?: Date | undefined;
    }
  /** The provider did not answer; the session is unchanged. */
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly steps: readonly VerificationStep[];
      /** When to verify again for the waiting callbacks; undefined if none wait. */
      readonly nextInMs?: number | undefined;
    }
  /** The verification lease is taken. */
  | { readonly kind: 'busy' }
  /** The callbacks of the session have reached their rate limit. */
  | { readonly kind: 'spent'; readonly nextInMs: number };

export type VerifyOptions = {
  readonly pool: Pool;
  readonly findSession: FindSession;
  readonly leases: VerificationLeases;
  readonly concurrency: ProviderConcurrency;
  readonly providers: Providers;
  readonly settle: Settle;
  readonly waiting: WaitingCallbacks;
  readonly metrics: PaymentMetrics;
};

export type VerifyRequest = {
  readonly sessionId: string;
  /** The session, if the caller has just read it. */
  readonly session?: StoredSession;
  /** The verification lease, if the caller has it. */
  readonly lease?: TakenVerificationLease | undefined;
  /** The callback that triggers the verification. The answer also settles all callbacks that wait. */
  readonly callback?: WaitingCallback;
  /** Verify a paid session too, because it may have been reversed. */
  readonly includePaid?: boolean;
  /** Apply the rate limit. For verifications that anybody can trigger by sending callbacks. */
  readonly rateLimited?: boolean;
  /** Milliseconds to wait for the verification lease. Default: 0. */
  readonly waitMs?: number;
};

/** Rejects only with errors that are neither the provider's nor the session's. */
export type VerifySession = (request: VerifyRequest) => Promise<VerifyResult>;

export function createVerifySession(options: VerifyOptions): VerifySession {
  return async (request) => {
    const result =
      (await resultWithoutLease(options, request)) ?? (await verifyWithRetries(options, request)) ?? BUSY;
    if (result.kind === 'busy' || result.kind === 'spent') options.metrics.verificationDeferred(result.kind);
    return result;
  };
}

/** Skips the lease if no provider call is needed or allowed, so that a flood of callbacks only reads. */
async function resultWithoutLease(
  options: VerifyOptions,
  request: VerifyRequest,
): Promise<VerifyResult | undefined> {
  if (request.lease !== undefined) return undefined;
  return resultWithoutCall(options, request, request.session ?? (await readSession(options, request)));
}

const BUSY: VerifyResult = { kind: 'busy' };
/** Another hub took the verification lease before the answer was settled. */
const FENCED = Symbol('fenced');
/** A hub retries only a few times, because the hub that took its lease verifies the session too. */
const MAX_RETRIES = 3;

/** Undefined if the lease is taken. */
async function verifyWithRetries(
  options: VerifyOptions,
  request: VerifyRequest,
): Promise<VerifyResult | undefined> {
  let result = await verifyUnderLease(options, request);
  for (let retries = 0; result === FENCED && retries < MAX_RETRIES; retries++) {
    const session = await readSession(options, request);
    result =
      (await resultWithoutCall(options, request, session)) ??
      (await verifyUnderLease(options, { ...request, lease: undefined }));
  }
  return result === FENCED ? undefined : result;
}

function verifyUnderLease(
  options: VerifyOptions,
  request: VerifyRequest,
): Promise<VerifyResult | typeof FENCED | undefined> {
  const { sessionId, lease: taken, rateLimited = false, waitMs = 0 } = request;
  return options.leases.run(sessionId, {
    work: (lease) => verify(options, request, lease),
    alreadyDone: async () => resultWithoutCall(options, request, await readSession(options, request)),
    taken,
    rateLimited,
    waitMs,
  });
}

async function verify(
  options: VerifyOptions,
  request: VerifyRequest,
  lease: VerificationLease,
): Promise<VerifyResult | typeof FENCED> {
  const { session } = lease;
  if (isSettled(request, session)) return settlePaidBefore(options, session.id, ownCallback(request));
  const steps: VerificationStep[] = [];
  const opening = options.providers.forSlot(session.slotId, (step) => steps.push(step));
  opening.catch(() => {}); // awaited in callProvider
  const gathered = await options.waiting.gather(session.id, request.callback);
  const run = { ...gathered, steps, sessionId: session.id };
  try {
    const answer = await callProvider(options, lease, opening, expectedPaymentOf(session, run.validationId));
    return await settle(options, lease, run, answer);
  } catch (error) {
    if (error instanceof ProviderUnavailable) return defer(options, run, error.message);
    await options.waiting.postpone(session.id, run.others, HUB_FAILED);
    throw error;
  }
}

/** The provider calls of one verification, and the callbacks that they answer. */
type VerificationRun = GatheredCallbacks & {
  readonly sessionId: string;
  readonly steps: readonly VerificationStep[];
};

function callProvider(
  { concurrency, metrics }: VerifyOptions,
  { session: { id, slot }, limitHttp }: VerificationLease,
  opening: ReturnType<Providers['forSlot']>,
  expected: ExpectedPayment,
): Promise<Verdict> {
  const call = async (): Promise<Verdict> => {
    const { driver, access } = await opening;
    return driver.verify({ ...access, http: limitHttp(access.http) }, expected);
  };
  return inSpan(
    'verify',
    { attributes: { 'hub.slot': slot, 'hub.session.id': formatId('chs', id) } },
    async (span) => {
      const verdict = await concurrency.run(slot, () => metrics.verification(slot, call));
      span.setAttribute('hub.verification.outcome', verdict.kind);
      return verdict;
    },
  );
}

async function settle(
  options: VerifyOptions,
  { session, fence, markEnded }: VerificationLease,
  run: VerificationRun,
  answer: Verdict,
): Promise<VerifyResult | typeof FENCED> {
  const verdict = verdictOf(session, answer);
  const settlement = await options.settle({ ...findingOf(run), verdict, fence });
  markEnded();
  if (settlement === undefined) return FENCED;
  const pendingUntil = verdict.kind === 'pending' ? verdict.until : undefined;
  return { kind: 'settled', settlement, steps: run.steps, pendingUntil };
}

/** Leaves the callbacks waiting for the next verification. */
async function defer(options: VerifyOptions, run: VerificationRun, reason: string): Promise<VerifyResult> {
  const { sessionId, callbacks, steps } = run;
  if (steps.length > 0) await options.pool.query(recordSteps([findingOf(run)]));
  const { paid, nextInMs } = await options.waiting.postpone(sessionId, callbacks, reason);
  if (paid) return settlePaidBefore(options, sessionId, callbacks);
  return { kind: 'unavailable', reason, steps, nextInMs };
}

async function resultWithoutCall(
  options: VerifyOptions,
  request: VerifyRequest,
  session: StoredSession,
): Promise<VerifyResult | undefined> {
  if (isSettled(request, session)) return settlePaidBefore(options, session.id, ownCallback(request));
  const { verificationInMs } = session;
  return request.rateLimited && verificationInMs > 0
    ? { kind: 'spent', nextInMs: verificationInMs }
    : undefined;
}

function isSettled({ includePaid = false }: VerifyRequest, { status }: StoredSession): boolean {
  return status === 'success' && !includePaid;
}

async function settlePaidBefore(
  options: VerifyOptions,
  sessionId: string,
  callbacks: readonly WaitingCallback[],
): Promise<VerifyResult> {
  const finding = findingOf({ sessionId, callbacks, steps: [] });
  const settlement = await options.settle({ ...finding, verdict: PAID_BEFORE });
  return { kind: 'settled', settlement, steps: [] };
}

async function readSession(
  { findSession }: VerifyOptions,
  { sessionId }: VerifyRequest,
): Promise<StoredSession> {
  const session = await findSession.byId(sessionId);
  if (session === undefined) throw new Error(`charge session ${sessionId} is gone`);
  return session;
}

function ownCallback({ callback }: VerifyRequest): readonly WaitingCallback[] {
  return callback ? [callback] : [];
}

function findingOf({
  sessionId,
  callbacks,
  steps,
}: Pick<VerificationRun, 'sessionId' | 'callbacks' | 'steps'>): Omit<Finding, 'verdict' | 'fence'> {
  return { sessionId, callbackIds: callbacks.map(({ id }) => id), named: callbacks, steps };
}

function expectedPaymentOf(session: StoredSession, validationId: string | undefined): ExpectedPayment {
  return {
    merchantTransactionId: session.merchantTransactionId,
    providerPaymentId: session.providerPaymentId ?? '',
    amount: session.amount,
    isPaid: session.status === 'success',
    ...(validationId && { validationId }),
  };
}
