// Verifies a session: calls its provider under the verification lease, and settles it with the answer.
import type { Pool } from 'pg';
import { inSpan } from '../../../lib/tracing/spans.ts';
import { formatId } from '../../ids.ts';
import { type Batcher, createBatcher } from '../../storage/sql/batcher.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import { HUB_FAILED, type JournaledCallback } from '../callbacks/journaled-callbacks.ts';
import {
  MAX_WAITING_CALLBACKS,
  type WaitingCallback,
  type WaitingCallbacks,
} from '../callbacks/postpone-or-give-up.ts';
import {
  type ExpectedPayment,
  ProviderUnavailable,
  type Verdict,
  type VerificationStep,
} from '../providers/driver.ts';
import { personalValues } from '../providers/driver-calls.ts';
import { parseJournaledClaim } from '../providers/registry.ts';
import type { FindSession } from '../sessions/look-up-sessions.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import { verdictOf } from '../settlement/decide.ts';
import { PAID_BEFORE } from '../settlement/finding.ts';
import type { Settle } from '../settlement/settle.ts';
import { recordSteps } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { ProviderConcurrency, Providers } from '../slots/provider-connections.ts';
import type { VerificationLease, VerificationLeases } from './lease.ts';
import type { VerifyRequest, VerifyResult, VerifySession } from './verification-request.ts';

export type VerifyOptions = Pick<PaymentDependencies, 'pool' | 'metrics'> & {
  readonly findSession: FindSession;
  readonly leases: VerificationLeases;
  readonly concurrency: ProviderConcurrency;
  readonly providers: Providers;
  readonly settle: Settle;
  readonly waiting: WaitingCallbacks;
};

export function createVerifySession(options: VerifyOptions): VerifySession {
  const verifier = { ...options, readWaiting: createReadWaiting(options.pool) };
  return async (request) => {
    const result =
      (await resultWithoutLease(options, request)) ?? (await verifyWithRetries(verifier, request)) ?? BUSY;
    if (result.kind === 'busy' || result.kind === 'rate_limited')
      options.metrics.verificationDeferred(result.kind);
    return result;
  };
}

type Verifier = VerifyOptions & { readonly readWaiting: Batcher<string, Waiting[]> };

/** Skips the lease if no provider call is needed or allowed. A flood of callbacks then causes only reads. */
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
  options: Verifier,
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
  options: Verifier,
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
  options: Verifier,
  request: VerifyRequest,
  lease: VerificationLease,
): Promise<VerifyResult | typeof FENCED> {
  const { session } = lease;
  if (isSettled(request, session)) return settlePaidBefore(options, session.id, ownCallback(request));
  const steps: VerificationStep[] = [];
  const { slotId, slotVersion } = session;
  const opening = options.providers.forSlot(slotId, (step) => steps.push(step), slotVersion);
  opening.catch(() => {}); // awaited in callProvider
  const gathered = await gather(options, session, request.callback);
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

type GatheredCallbacks = {
  /** The callback that triggers the verification comes first, then the others, the oldest first. */
  readonly callbacks: readonly WaitingCallback[];
  readonly others: readonly WaitingCallback[];
  /** The validation id to look up first. */
  readonly validationId: string | undefined;
};

/**
 * Gathers the callbacks that a verification of the session answers. Must run before the provider call: its
 * answer may be older than a callback that arrives during the call. If more than
 * `MAX_WAITING_CALLBACKS` wait, the newest ones are finished as `ignored`.
 */
async function gather(
  { readWaiting, waiting }: Verifier,
  { id: sessionId, callbacksWaited }: StoredSession,
  trigger: WaitingCallback | undefined,
): Promise<GatheredCallbacks> {
  // Most sessions have one callback. For them, this saves a search of every month of the journal.
  const rows = callbacksWaited ? await readWaiting(sessionId) : [];
  const kept = rows.slice(0, MAX_WAITING_CALLBACKS);
  const last = rows.length > MAX_WAITING_CALLBACKS ? kept.at(-1) : undefined;
  if (last !== undefined) await waiting.ignoreNewerThan(sessionId, last.id);
  const others = kept
    .filter(({ id }) => id !== trigger?.id)
    .map(({ id, gateway, fields, triedSinceMs }) => {
      const claim = parseJournaledClaim(gateway, fields);
      return {
        id,
        gateway,
        triedSince: triedSinceMs === null ? undefined : new Date(triedSinceMs),
        // Used only if all callbacks agree on it, and here some were not read.
        validationId: last === undefined ? claim?.validationId : undefined,
        providerPaymentId: claim?.providerPaymentId,
      };
    });
  const callbacks = trigger ? [trigger, ...others] : others;
  return { callbacks, others, validationId: trigger?.validationId ?? commonValidationId(others) };
}

type Waiting = Pick<JournaledCallback, 'id' | 'gateway' | 'fields'> & {
  readonly triedSinceMs: number | null;
};

/**
 * The validation id that all callbacks agree on. If they disagree, some are forged, and the hub uses none.
 */
function commonValidationId(callbacks: readonly WaitingCallback[]): string | undefined {
  const ids = new Set(callbacks.flatMap(({ validationId }) => validationId ?? []));
  return ids.size === 1 ? [...ids][0] : undefined;
}

// callback_waiting_idx, once for each session
const READ_WAITING = `select t.session_id as "sessionId", w.*
  from unnest($1::uuid[]) as t (session_id) cross join lateral (
    select id, gateway, fields, ${epochMs('tried_since')} as "triedSinceMs"
    from callback where session_id = t.session_id and state = 'received' order by id limit $2
  ) w`;

/** Reads one more than `MAX_WAITING_CALLBACKS` to detect that there are too many. */
function createReadWaiting(pool: Pool): Batcher<string, Waiting[]> {
  return createBatcher({
    maxSize: 64,
    run: async (sessionIds: readonly string[]) => {
      const { rows } = await pool.query<Waiting & { sessionId: string }>({
        name: 'waiting_callbacks',
        text: READ_WAITING,
        values: [[...new Set(sessionIds)], MAX_WAITING_CALLBACKS + 1],
      });
      return sessionIds.map((id) => rows.filter(({ sessionId }) => sessionId === id));
    },
  });
}

/** The provider calls of one verification, and the callbacks that they answer. */
type VerificationRun = GatheredCallbacks & {
  readonly sessionId: string;
  readonly steps: readonly VerificationStep[];
};

function callProvider(
  { concurrency, metrics }: VerifyOptions,
  { session: { id, slot, customer }, limitHttp }: VerificationLease,
  opening: ReturnType<Providers['forSlot']>,
  expected: ExpectedPayment,
): Promise<Verdict> {
  const call = async (): Promise<Verdict> => {
    const { driver, access } = await opening;
    const personal = personalValues(customer);
    return driver.verify({ ...access, personal, http: limitHttp(access.http) }, expected);
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
    ? { kind: 'rate_limited', nextInMs: verificationInMs }
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

function findingOf(run: Pick<VerificationRun, 'sessionId' | 'callbacks' | 'steps'>) {
  const { sessionId, callbacks, steps } = run;
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
