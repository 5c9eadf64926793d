// One settlement transaction, for any number of findings about different sessions.
import type { Pool, PoolClient, QueryResult } from 'pg';
import { recordChanges } from '../../audit/record.ts';
import { type NewEvent, recordEvents } from '../../event/outbox.ts';
import { combineWrites, inTransaction, type Send } from '../../storage/sql/transaction.ts';
import { finishing, finishWaiting, type Outcome } from '../callbacks/journaled-callbacks.ts';
import { closeDuplicates, markOtherPayments } from '../duplicates/other-payments.ts';
import { applyRules, type FeeRuleFacts, readRulesInForce } from '../fees/rules.ts';
import { sumPendingRefunds } from '../refunds/read-refunds.ts';
import type { Sales } from '../sales.ts';
import { lockSessions, type StoredSession } from '../sessions/read-sessions.ts';
import { isFenced } from '../verification/lease.ts';
import { type Decision, decide, type ProofState } from './decide.ts';
import { type Finding, PAID_BEFORE, type PaidFinding } from './finding.ts';
import {
  type ClaimedProof,
  claimProofs,
  hasPaidAnother,
  isFullyClaimed,
  logFees,
  logUsages,
  recordSteps,
  releaseProofs,
  SETTLEMENT,
  type UsageEntry,
  updateSessions,
  usageEntry,
} from './statements.ts';

export type BatchOptions = Pick<Sales, 'fulfill' | 'takeBack'> & {
  readonly pool: Pool;
  readonly at: Date;
  /**
   * Leave out findings that would hold up the others: those with a locked row, with a proof that is not new, or
   * that reverse the payment of an order.
   */
  readonly isShared: boolean;
};

/** A finding, and its session before the settlement. */
type Judged = {
  readonly finding: Finding;
  readonly session: StoredSession;
  readonly proof?: ProofState | undefined;
  /** Undefined if the finding is fenced. */
  readonly decision?: Decision;
};

type Settled = Judged & { readonly decision: Decision };

export type SettledBatch = {
  readonly judged: readonly Judged[];
  readonly finishedCallbacks: readonly { readonly gateway: string; readonly state: Outcome['state'] }[];
};

/** How long a shared batch waits for any lock, such as that of a proof that another hub settles by. */
const LOCK_TIMEOUT_MS = 1_000;

export async function settleBatch(
  findings: readonly Finding[],
  { pool, fulfill, takeBack, at, isShared }: BatchOptions,
): Promise<SettledBatch> {
  const work = async (client: PoolClient, send: Send) => {
    const payments = findings.filter(isPaid);
    const ids = findings.map(({ sessionId }) => sessionId);
    // In one round trip. The statements after the lock see what was committed before it was granted.
    const [sessions, claimed, rules] = await Promise.all([
      lockSessions(client, ids, { skipLocked: isShared }),
      claimProofs(client, payments),
      payments.length > 0 ? readRulesInForce(client, at) : [],
    ]);
    const judged: Judged[] = [];
    for (const finding of findings.toSorted(bySessionId)) {
      const session = sessions.get(finding.sessionId);
      const one = session && (await judge(client, { finding, session, claimed, at, isShared }));
      if (one !== undefined) judged.push(one);
    }
    const settled = judged.filter((one): one is Settled => one.decision !== undefined);
    const paying = new Set(settled.flatMap(({ session, decision }) => (decision.usage ? session.id : [])));
    const unused = claimed.filter(({ sessionId }) => !paying.has(sessionId));
    if (unused.length > 0) send(releaseProofs(unused));

    const usages = settled.flatMap((one) => usageOf(one, rules, at));
    const later = usages.filter(({ kind }) => kind === 'later_payment');
    const closed = await closeDuplicates(client, later, at);
    const orders = await fulfill(
      client,
      send,
      settled.filter(buys).map(({ session }) => session),
      {
        at,
        actor: SETTLEMENT,
        isAlone: !isShared,
      },
    );
    const reversed = settled
      .filter(reverses)
      .map(({ session }) => ({ ...session, cause: 'reversal' }) as const);
    const refunds = await takeBack(client, send, reversed, { at, actor: SETTLEMENT });
    const updates = settled.flatMap(updateOf);
    if (updates.length > 0 || judged.some(({ finding }) => finding.steps.length > 0)) {
      send(
        combineWrites({
          name: 'settle_sessions',
          writes: [
            recordSteps(judged.map(({ finding }) => finding)),
            logUsages(usages, at),
            logFees(usages),
            updateSessions(updates, at),
            recordEvents(at, [...settled.flatMap(eventsOf), ...orders.events, ...refunds.events]),
            recordChanges(SETTLEMENT, at, [
              ...settled.flatMap(({ decision }) => decision.change ?? []),
              ...closed,
              ...orders.changes,
              ...refunds.changes,
            ]),
          ],
        }),
      );
    }
    return { judged, finished: finishCallbacks(send, settled, at) };
  };
  const { judged, finished } = await inTransaction(
    pool,
    work,
    isShared ? { lockTimeoutMs: LOCK_TIMEOUT_MS } : {},
  );
  return { judged, finishedCallbacks: (await Promise.all(finished)).flatMap(({ rows }) => rows) };
}

/** The order in which concurrent transactions lock the rows that belong to sessions. */
function bySessionId(one: Finding, other: Finding): number {
  return one.sessionId < other.sessionId ? -1 : 1;
}

type Candidate = {
  readonly finding: Finding;
  readonly session: StoredSession;
  readonly claimed: readonly ClaimedProof[];
  readonly at: Date;
  readonly isShared: boolean;
};

function isPaid(finding: Finding): finding is PaidFinding {
  return finding.verdict.kind === 'paid';
}

/** Undefined if the finding must be settled in a batch of its own. */
async function judge(client: PoolClient, candidate: Candidate): Promise<Judged | undefined> {
  const { finding, session, claimed, at, isShared } = candidate;
  if (isFenced(finding, session)) return { finding, session };
  let proof: ProofState | undefined;
  const openRefundsMinor = mayBeRefunded(finding, session)
    ? await sumPendingRefunds(client, session.id)
    : undefined;
  if (isPaid(finding) && session.status !== 'success') {
    const isNew = isFullyClaimed(finding, claimed);
    if (!isNew && isShared) return undefined;
    proof = isNew ? 'new' : (await hasPaidAnother(client, session, finding)) ? 'used' : 'again';
  }
  const decision = decide({ finding, session, at }, { proof, openRefundsMinor });
  if (isShared && reverses({ session, decision })) return undefined;
  return { finding, session, proof, decision };
}

/** Whether refunds of the hub may be what the provider reports as a reversal. */
function mayBeRefunded({ verdict }: Finding, { status }: StoredSession): boolean {
  return verdict.kind === 'reversed' && status === 'success';
}

/** Whether the settlement sets a session with an offer to paid. */
function buys({ session, decision: { usage } }: Settled): boolean {
  return session.hasPurchase && usage !== undefined && usage.kind !== 'reversal';
}

/** Whether the settlement reverses the payment of a session with an offer. */
function reverses({ session, decision: { usage } }: Pick<Settled, 'session' | 'decision'>): boolean {
  return session.hasPurchase && usage?.kind === 'reversal';
}

/**
 * A payment that settles again after its reversal gets no new fees. It was charged the first time.
 */
function usageOf(
  { session, proof, decision: { usage } }: Settled,
  rules: readonly FeeRuleFacts[],
  at: Date,
): UsageEntry[] {
  if (usage === undefined) return [];
  const { gateway, slotId, amount } = session;
  const fees = proof === 'new' ? applyRules(rules, { gateway, slotId, amount, at }) : undefined;
  return [usageEntry(usage, session, fees)];
}

/** A session whose status changes or becomes verified has an event, but not a pending one that is held. */
function eventsOf({ session, decision: { next, changed, usage } }: Settled): NewEvent[] {
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

function updateOf({ finding, session: { id, gateway }, decision: { next, changed, update } }: Settled) {
  const leaseHolder = finding.fence?.holder;
  const isNeeded = changed || leaseHolder !== undefined || Object.keys(update).length > 0;
  return isNeeded ? [{ id, gateway, next, update, leaseHolder }] : [];
}

/**
 * Also marks the paid sessions whose callbacks name other payments. Each result has the finished callbacks.
 */
function finishCallbacks(send: Send, settled: readonly Settled[], at: Date): Promise<QueryResult>[] {
  const outcomes = settled.flatMap(({ finding, decision }) =>
    finding.callbackIds.map((id) => ({ id, ...decision.outcome })),
  );
  const results = outcomes.length > 0 ? [send({ name: 'finish_callbacks', ...finishing(outcomes, at) })] : [];
  const paid = settled.filter(isPaidNow);
  for (const { finding, session, decision } of paid) {
    const marking = markOtherPayments(
      session,
      finding.namedPayments,
      at,
      decision.usage?.gatewayTransactionId,
    );
    if (marking !== undefined) send(marking);
  }
  // A statement of its own: some of the waiting callbacks are finished by the one above.
  if (paid.length > 0)
    results.push(
      send(
        finishWaiting(
          paid.map(({ session }) => session.id),
          PAID_BEFORE.detail,
          at,
        ),
      ),
    );
  return results;
}

function isPaidNow({ finding: { verdict }, decision }: Settled): boolean {
  return (verdict.kind === 'paid' || verdict.kind === 'paid_before') && decision.outcome.state === 'settled';
}
