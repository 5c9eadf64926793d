// Settlement: the only code that changes a session's status. Repeating a settlement changes nothing.
//
// The answer of a provider becomes a verdict. A finding (finding.ts) is a verdict with the callbacks that it
// answers. From the finding and the locked session, decide.ts makes a decision. This file writes it.
//
// Findings that arrive at the same time share a transaction. A finding that cannot be settled with the
// others, or whose batch fails, is settled in a batch of its own. All steps of the transaction are in this
// file.
import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import { recordChanges } from '../../audit/record.ts';
import { type NewEvent, recordEvents } from '../../event/outbox.ts';
import { formatId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import {
  combineWrites,
  inTransaction,
  mayBeCausedByOneItem,
  type Send,
} from '../../storage/sql/transaction.ts';
import { closeDuplicates } from '../duplicates/close-duplicates.ts';
import { markOtherPayments, type PaymentName } from '../duplicates/mark-for-check.ts';
import { applyRules, type FeeRuleFacts, readRulesInForce } from '../fees/rules.ts';
import type { Fulfillment, Sales } from '../order-interface.ts';
import { ProviderUnavailable } from '../providers/driver.ts';
import { sumDeductedRefunds, sumPendingRefunds } from '../refunds/read-refunds.ts';
import { lockSessions, type StoredSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { type Fence, isFenced } from '../verification/lease.ts';
import { type Decision, decide, type ProofState } from './decide.ts';
import { type Finding, PAID_BEFORE, type PaidFinding, type Settlement } from './finding.ts';
import { deleteUnusedProofs, hasPaidAnother } from './used-proofs.ts';
import {
  type AssignedProof,
  assignProofs,
  finishing,
  finishWaiting,
  isFullyAssigned,
  logFees,
  logUsages,
  markUnjournaled,
  recordSteps,
  SETTLEMENT,
  type UsageEntry,
  updateSessions,
  usageEntry,
} from './write-settlement.ts';

export type SettleOptions = PaymentDependencies &
  Pick<Sales, 'fulfill' | 'takeBack'> & {
    /** Called after the commit. */
    readonly onChange: (sessionId: string) => void;
  };

/**
 * Applies a finding to its session. Resolves with undefined, and settles nothing, if another hub has
 * taken the verification lease in the meantime: the caller must verify again.
 *
 * @throws ProviderUnavailable if a new checkout has the payment id of another one
 */
export type Settle = {
  (finding: Finding & { readonly fence?: undefined }): Promise<Settlement>;
  (finding: Finding & { readonly fence: Fence }): Promise<Settlement | undefined>;
};

type Result = Settlement | 'fenced';

/** A finding, and its session before the settlement. */
type Evaluated = {
  readonly finding: Finding;
  readonly session: StoredSession;
  readonly proof?: ProofState | undefined;
  /** Undefined if the finding is fenced. */
  readonly decision?: Decision;
};

type WithDecision = Evaluated & { readonly decision: Decision };

export function createSettle(options: SettleOptions): Settle {
  const settleTogether = createBatcher<Finding, Result | undefined>({
    maxSize: 64,
    async run(findings) {
      const results = await settleBatch(options, findings, true).catch((error) => {
        if (mayBeCausedByOneItem(error)) return new Map<Finding, Result>();
        throw error;
      });
      return findings.map((finding) => results.get(finding));
    },
  });
  const settleAlone = async (finding: Finding): Promise<Result> => {
    const results = await settleBatch(options, [finding], false).catch((error) => {
      const isTaken =
        error instanceof DatabaseError && error.constraint === 'charge_session_provider_payment_id_key';
      throw isTaken ? new ProviderUnavailable('the provider gave the payment id of another session') : error;
    });
    const result = results.get(finding);
    if (result === undefined) throw new Error(`charge session ${finding.sessionId} is gone`);
    return result;
  };
  const settle = async (finding: Finding): Promise<Settlement | undefined> => {
    const result = (await settleTogether(finding)) ?? (await settleAlone(finding));
    if (result === 'fenced') return undefined;
    if (result.changed) options.onChange(finding.sessionId);
    return result;
  };
  // One settlement of a session at a time: the next one would only wait for its row, with a connection of the
  // pool.
  const last = new Map<string, Promise<unknown>>();
  const settleInTurn = (finding: Finding): Promise<Settlement | undefined> => {
    const { sessionId } = finding;
    const turn = (last.get(sessionId) ?? Promise.resolve()).then(() => settle(finding));
    const done = turn
      .catch(() => {}) // the caller handles it
      .finally(() => last.get(sessionId) === done && last.delete(sessionId));
    last.set(sessionId, done);
    return turn;
  };
  return settleInTurn as Settle; // without a fence the result is always a settlement
}

/**
 * How long a shared batch waits for any lock, such as that of a proof that another hub's settlement has
 * locked.
 */
const LOCK_TIMEOUT_MS = 1_000;

/**
 * Settles findings about different sessions in one transaction. With `isShared`, it skips a finding whose
 * session is locked, whose proof is not new, or that reverses the payment of an order. A skipped finding has
 * no result, and is settled in a batch of its own.
 */
async function settleBatch(
  options: SettleOptions,
  findings: readonly Finding[],
  isShared: boolean,
): Promise<ReadonlyMap<Finding, Result>> {
  const { pool, clock, metrics } = options;
  const ids = findings.map(({ sessionId }) => sessionId);
  const { evaluated, finished } = await inTransaction(
    pool,
    async (client, send) => {
      // An export of yesterday's usage log must not miss a settlement. So the time is taken after the wait
      // for the session, shortly before the commit.
      if (!isShared) await lockSessions(client, ids, { skipLocked: false });
      const at = clock();
      const batch = { client, send, at, isShared };
      const decided = await evaluateAll(batch, findings);
      const { evaluated, settled, assigned } = decided;
      const paying = new Set(settled.flatMap(({ session, decision }) => (decision.usage ? session.id : [])));
      const unused = assigned.filter(({ sessionId }) => !paying.has(sessionId));
      if (unused.length > 0) send(deleteUnusedProofs(unused));
      await writeChanges(options, batch, decided);
      return { evaluated, finished: finishCallbacks(send, settled, at) };
    },
    isShared ? { lockTimeoutMs: LOCK_TIMEOUT_MS } : {},
  );
  for (const { rows } of await Promise.all(finished)) {
    for (const { gateway, state } of rows) metrics.finished(gateway, state, 1);
  }
  return new Map(evaluated.map((one) => [one.finding, resultOf(options, one)]));
}

function resultOf({ metrics, logger }: SettleOptions, { finding, session, decision }: Evaluated): Result {
  if (decision !== undefined) {
    const { outcome, changed, next } = decision;
    if (next.status !== session.status) metrics.statusChanged(session, next.status);
    return { outcome, changed };
  }
  metrics.fenced(session.slot);
  logger.warn(
    {
      sessionId: formatId('chs', session.id),
      answer: finding.verdict.detail,
      fencingNumber: finding.fence?.fencingNumber,
      currentNumber: session.fencingNumber,
    },
    'another hub took the verification lease: the answer is discarded and the provider is called again',
  );
  return 'fenced';
}

type Batch = {
  readonly client: PoolClient;
  readonly send: Send;
  readonly at: Date;
  readonly isShared: boolean;
};

type Decided = Awaited<ReturnType<typeof evaluateAll>>;

/** Locks the sessions, assigns the proofs of payment, and decides about each finding. */
async function evaluateAll(batch: Batch, findings: readonly Finding[]) {
  const { client, at, isShared } = batch;
  const payments = findings.filter(isPaid);
  const ids = findings.map(({ sessionId }) => sessionId);
  // In one round trip. The statements after the lock see what was committed before it was granted.
  const [sessions, assigned, rules] = await Promise.all([
    lockSessions(client, ids, { skipLocked: isShared }),
    assignProofs(client, payments),
    payments.length > 0 ? readRulesInForce(client, at) : [],
  ]);
  const evaluated: Evaluated[] = [];
  for (const finding of findings.toSorted(bySessionId)) {
    const session = sessions.get(finding.sessionId);
    const one = session && (await evaluate(batch, assigned, finding, session));
    if (one !== undefined) evaluated.push(one);
  }
  const settled = evaluated.filter((one): one is WithDecision => one.decision !== undefined);
  return { evaluated, settled, assigned, rules };
}

/** The order in which concurrent transactions lock the rows that belong to sessions. */
function bySessionId(one: Finding, other: Finding): number {
  return one.sessionId < other.sessionId ? -1 : 1;
}

function isPaid(finding: Finding): finding is PaidFinding {
  return finding.verdict.kind === 'paid';
}

/** Undefined if the finding must be settled in a batch of its own. */
async function evaluate(
  { client, at, isShared }: Batch,
  assigned: readonly AssignedProof[],
  finding: Finding,
  session: StoredSession,
): Promise<Evaluated | undefined> {
  if (isFenced(finding, session)) return { finding, session };
  let proof: ProofState | undefined;
  let refundedMinor: bigint | undefined;
  // Refunds of the hub may be what the provider reports as a reversal.
  const mayBeRefunded = finding.verdict.kind === 'reversed' && session.status === 'success';
  const openRefundsMinor = mayBeRefunded ? await sumPendingRefunds(client, session) : undefined;
  if (isPaid(finding) && session.status !== 'success') {
    const isNew = isFullyAssigned(finding, assigned);
    if (!isNew && isShared) return undefined;
    proof = isNew ? 'new' : (await hasPaidAnother(client, session, finding)) ? 'used' : 'again';
    if (proof === 'again' && !isLastPayment(session, finding))
      refundedMinor = await sumDeductedRefunds(client, session, finding.verdict.gatewayTransactionId);
  }
  const decision = decide({ finding, session, at }, { proof, refundedMinor, openRefundsMinor });
  if (isShared && reverses({ session, decision })) return undefined;
  return { finding, session, proof, decision };
}

/** Whether the payment is the last one that settled the session. The provider may give it another id. */
function isLastPayment(
  { gatewayTransactionId, bankTransactionId }: StoredSession,
  { verdict }: PaidFinding,
): boolean {
  return (
    verdict.gatewayTransactionId === gatewayTransactionId ||
    (verdict.bankTransactionId !== undefined && verdict.bankTransactionId === bankTransactionId)
  );
}

async function writeChanges(
  { fulfill, takeBack }: SettleOptions,
  { client, send, at, isShared }: Batch,
  { evaluated, settled, rules }: Decided,
): Promise<void> {
  const usages = settled.flatMap((one) => usageOf(one, rules, at));
  const later = usages.filter(({ kind }) => kind === 'later_payment');
  const closed = later.length > 0 ? await closeDuplicates(client, later, at) : [];
  const by = { at, actor: SETTLEMENT };
  const bought = settled.filter(buys).map(({ session }) => session);
  const orders =
    bought.length > 0 ? await fulfill(client, send, bought, { ...by, isAlone: !isShared }) : UNCHANGED;
  const reversed = settled
    .filter(reverses)
    .map(({ session }) => ({ ...session, cause: 'reversal' as const }));
  const refunds = reversed.length > 0 ? await takeBack(client, send, reversed, by) : UNCHANGED;
  const updates = settled.flatMap(updateOf);
  if (updates.length === 0 && evaluated.every(({ finding }) => finding.steps.length === 0)) return;
  const changes = settled.flatMap(({ decision }) => decision.change ?? []);
  send(
    combineWrites({
      name: 'settle_sessions',
      writes: [
        recordSteps(evaluated.map(({ finding }) => finding)),
        logUsages(usages, at),
        logFees(usages),
        updateSessions(updates, at),
        recordEvents(at, [...settled.flatMap(eventsOf), ...orders.events, ...refunds.events]),
        recordChanges(SETTLEMENT, at, [...changes, ...closed, ...orders.changes, ...refunds.changes]),
      ],
    }),
  );
}

/** For a batch in which no session has an offer. */
const UNCHANGED: Fulfillment = { events: [], changes: [] };

/** Whether the settlement sets a session with an offer to paid. */
function buys({ session, decision: { usage } }: WithDecision): boolean {
  return session.hasPurchase && usage !== undefined && usage.kind !== 'reversal';
}

/** Whether the settlement reverses the payment of a session with an offer. */
function reverses({ session, decision: { usage } }: Pick<WithDecision, 'session' | 'decision'>): boolean {
  return session.hasPurchase && usage?.kind === 'reversal';
}

/**
 * A payment that settles again after its reversal gets no new fees. It was charged the first time.
 */
function usageOf(
  { session, proof, decision: { usage } }: WithDecision,
  rules: readonly FeeRuleFacts[],
  at: Date,
): UsageEntry[] {
  if (usage === undefined) return [];
  const { gateway, slotId, amount } = session;
  const fees = proof === 'new' ? applyRules(rules, { gateway, slotId, amount, at }) : undefined;
  return [usageEntry(usage, session, fees)];
}

/** A session whose status changes or becomes verified has an event, but not a pending one that is held. */
function eventsOf({ session, decision: { next, changed, usage } }: WithDecision): NewEvent[] {
  if (!changed || (next.status === 'pending' && session.status === 'pending')) return [];
  const type = usage?.kind === 'reversal' ? 'session.reversed' : STATUS_EVENTS[next.status];
  return [{ type, objectId: session.id, slotId: session.slotId }];
}

const STATUS_EVENTS = {
  pending: 'session.reopened',
  success: 'session.succeeded',
  failed: 'session.failed',
  cancelled: 'session.cancelled',
} as const;

function updateOf({ finding, session: { id, gateway }, decision: { next, changed, update } }: WithDecision) {
  const leaseHolder = finding.fence?.holder;
  const isNeeded = changed || leaseHolder !== undefined || Object.keys(update).length > 0;
  return isNeeded ? [{ id, gateway, next, update, leaseHolder }] : [];
}

/**
 * Finishes the callbacks, and marks the paid sessions whose callbacks name other payments. Each result has
 * the finished callbacks.
 */
function finishCallbacks(send: Send, settled: readonly WithDecision[], at: Date): Promise<QueryResult>[] {
  const outcomes = settled.flatMap(({ finding, decision }) =>
    finding.callbackIds.map((id) => ({ id, ...decision.outcome })),
  );
  const results = outcomes.length > 0 ? [send({ name: 'finish_callbacks', ...finishing(outcomes, at) })] : [];
  const paid = settled.filter(
    ({ finding: { verdict }, decision }) =>
      (verdict.kind === 'paid' || verdict.kind === 'paid_before') && decision.outcome.state === 'settled',
  );
  for (const { finding, session, decision } of paid) {
    const settledBy = decision.usage?.gatewayTransactionId;
    const { named = [] } = finding;
    if (namesAnother(named, session, settledBy)) send(markOtherPayments(session, named, at, settledBy));
  }
  const idsOf = (callbacksWaited: boolean): string[] =>
    paid
      .filter(({ session }) => session.callbacksWaited === callbacksWaited)
      .map(({ session }) => session.id);
  const [waited, others] = [idsOf(true), idsOf(false)];
  // A statement of its own, because finish_callbacks may finish some of the same callbacks.
  if (waited.length > 0) results.push(send(finishWaiting(waited, PAID_BEFORE.detail, at)));
  if (others.length > 0) send(markUnjournaled(others, at));
  return results;
}

/** Whether the callbacks name another payment than the one that settles the session, or another checkout. */
function namesAnother(
  named: readonly PaymentName[],
  session: StoredSession,
  settledBy: string | undefined,
): boolean {
  return named.some(
    ({ validationId, providerPaymentId }) =>
      (validationId && validationId !== settledBy) ||
      (providerPaymentId && providerPaymentId !== session.providerPaymentId),
  );
}
