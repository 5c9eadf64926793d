// Settles sessions that are found paid at the same time in one transaction, so that they share its statements and commit.
//
// Only plain payments: a session that was never paid, a new proof, a row that is not locked, and a lease that is still valid.
// The others are settled one by one (settle.ts).
import type { Pool, PoolClient } from 'pg';
import { recordChanges } from '../access/audit.ts';
import type { Clock } from '../clock.ts';
import { createBatcher } from '../storage/batcher.ts';
import { joinWrites, type Write } from '../storage/join-statements.ts';
import { inTransaction, mayBeOfOne } from '../storage/transaction.ts';
import { applyRules, readRulesInForce } from './fee-rules.ts';
import { finishWaiting } from './finish-waiting.ts';
import { type Finished, finishing } from './journal.ts';
import { logFees, logUsages } from './log-usage.ts';
import { nextState } from './next-state.ts';
import { markOtherPayments } from './other-payments.ts';
import type { PaymentMeter } from './payment-meter.ts';
import type { Verdict } from './provider.ts';
import { lockSessions, type SessionFacts } from './session-facts.ts';
import {
  type Finding,
  isFenced,
  recordSteps,
  SETTLEMENT,
  type Settlement,
  settlementChange,
} from './settlement.ts';

type PaidFinding = Finding & { readonly verdict: Extract<Verdict, { kind: 'paid' }> };

/** A finding with its session as it was before. */
type Payment = PaidFinding & { readonly session: SessionFacts };

/** Resolves with undefined, and does nothing, if the session has to be settled by itself. */
export type SettleTogether = (finding: PaidFinding) => Promise<Settlement | undefined>;

/** How long all may have to wait for somebody who settles another session by one of their proofs. */
const LOCK_TIMEOUT_MS = 1_000;

type Options = { readonly pool: Pool; readonly clock: Clock; readonly meter: PaymentMeter };

export function createSettleTogether({ pool, clock, meter }: Options): SettleTogether {
  return createBatcher({
    maxSize: 64,
    maxInFlight: 2,
    async run(findings: readonly PaidFinding[]) {
      const bySession = new Map(findings.map((finding) => [finding.sessionId, finding]));
      const settled = new Set(await settleEach(pool, [...bySession.values()], clock, meter));
      return findings.map((finding) => (settled.has(finding) ? settlementOf(finding) : undefined));
    },
  });
}

export function isPaid(finding: Finding): finding is PaidFinding {
  return finding.verdict.kind === 'paid';
}

function settlementOf({ sessionId, verdict }: PaidFinding): Settlement {
  return { outcome: { state: 'settled', reason: verdict.detail, sessionId }, changed: true };
}

/** Some of them are to be settled by themselves; nothing is done yet. */
class NotPlain extends Error {
  readonly plain: readonly PaidFinding[];
  constructor(plain: readonly PaidFinding[]) {
    super('not every session can be settled together with the others');
    this.plain = plain;
  }
}

/** Those that are settled. What has to be left out is seen under the locks: the others begin anew without it. */
async function settleEach(
  pool: Pool,
  findings: readonly PaidFinding[],
  clock: Clock,
  meter: PaymentMeter,
): Promise<readonly PaidFinding[]> {
  if (findings.length === 0) return [];
  try {
    const { payments, waited } = await inTransaction(
      pool,
      async (client, send) => {
        const at = clock();
        const ids = findings.map(({ sessionId }) => sessionId);
        // In one round trip. Whatever is read after the lock sees what was committed before it was granted.
        const [sessions, claimed, rules] = await Promise.all([
          lockSessions(client, ids),
          claimProofs(client, findings),
          readRulesInForce(client, at),
        ]);
        const payments = findings.flatMap((finding) => {
          const session = sessions.get(finding.sessionId);
          return session !== undefined && isPlain(finding, session) && claimed(finding)
            ? [{ ...finding, session }]
            : [];
        });
        if (payments.length < findings.length) {
          const plain = new Set(payments.map(({ sessionId }) => sessionId));
          throw new NotPlain(findings.filter(({ sessionId }) => plain.has(sessionId)));
        }

        const fees = payments.map(({ session: { gateway, slotId, amount } }) =>
          applyRules(rules, { gateway, slotId, amount, at }),
        );
        const lines = payments.map(({ sessionId }, index) => ({
          usageLogId: sessionId,
          lines: fees[index]?.lines ?? [],
        }));
        const entries = payments.map(({ sessionId: id, session, verdict }, index) => ({
          id,
          kind: 'payment' as const,
          session,
          gatewayTransactionId: verdict.gatewayTransactionId,
          feeTotalMinor: fees[index]?.totalMinor ?? 0n,
        }));
        send(
          joinWrites({
            name: 'settle_together',
            writes: [
              recordSteps(payments),
              logUsages(entries, at),
              logFees(lines),
              paySessions(payments, at),
              recordChanges(SETTLEMENT, at, payments.map(changeOf)),
              finishing(payments.flatMap(finishedBy), at),
            ],
          }),
        );
        for (const { session, verdict, namedPayments } of payments) {
          const marking = markOtherPayments(session, namedPayments, at, verdict.gatewayTransactionId);
          if (marking !== undefined) send(marking);
        }
        // By itself: some of them were waiting as well, and are settled by now.
        return { payments, waited: send(finishWaiting(ids, at)) };
      },
      { lockTimeoutMs: LOCK_TIMEOUT_MS },
    );
    for (const { session, callbackIds } of payments) {
      meter.finished(session.gateway, 'settled', callbackIds.length);
      meter.statusChanged(session, 'success');
    }
    for (const { gateway } of (await waited).rows) meter.finished(gateway, 'settled', 1);
    return findings;
  } catch (error) {
    if (error instanceof NotPlain) return settleEach(pool, error.plain, clock, meter);
    if (mayBeOfOne(error)) return [];
    throw error;
  }
}

/** Whether there is nothing to be decided: never paid before, and asked about under the lease that still is the latest. */
function isPlain(finding: PaidFinding, session: SessionFacts): boolean {
  return (
    session.status !== 'success' && session.gatewayTransactionId === undefined && !isFenced(finding, session)
  );
}

/** Of which findings nothing that proves the payment was ever claimed before. */
async function claimProofs(
  client: PoolClient,
  findings: readonly PaidFinding[],
): Promise<(finding: PaidFinding) => boolean> {
  const proofs = findings.flatMap(proofsOf);
  const { rows } = await client.query<{ sessionId: string }>({
    name: 'claim_proofs',
    // payment_proof_pkey. Whoever settles another session by the same proof waits here, all in the same order.
    text: `insert into payment_proof (gateway, kind, value, session_id)
           select s.gateway, t.kind, t.value, c.id
           from unnest($1::uuid[], $2::text[], $3::text[]) as t (session_id, kind, value)
           join charge_session c on c.id = t.session_id join slot s on s.id = c.slot_id
           order by s.gateway, t.kind, t.value
           on conflict do nothing returning session_id as "sessionId"`,
    values: [
      proofs.map(({ sessionId }) => sessionId),
      proofs.map(({ kind }) => kind),
      proofs.map(({ value }) => value),
    ],
  });
  const claimed = Map.groupBy(rows, ({ sessionId }) => sessionId);
  return (finding) => claimed.get(finding.sessionId)?.length === proofsOf(finding).length;
}

function proofsOf({ sessionId, verdict }: PaidFinding) {
  return [
    { sessionId, kind: 'payment', value: verdict.gatewayTransactionId },
    ...(verdict.bankTransactionId ? [{ sessionId, kind: 'bank', value: verdict.bankTransactionId }] : []),
  ];
}

/** What is paid is not asked for any more; whoever asked has ended doing so. */
function paySessions(payments: readonly Payment[], at: Date): Write {
  return {
    // charge_session_pkey
    text: `update charge_session c
           set status = 'success', status_verified = true, status_reason = t.reason, status_changed_at = $5,
               gateway_transaction_id = t.gateway_transaction_id, next_check_at = null,
               risk_level = t.risk_level, risk_title = t.risk_title, held_at = null,
               verifying_by = case when verifying_by is distinct from t.holder then verifying_by end,
               verifying_until = case when verifying_by is distinct from t.holder then verifying_until end
           from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $6::int[], $7::text[])
             as t (id, reason, gateway_transaction_id, holder, risk_level, risk_title)
           where c.id = t.id`,
    values: [
      payments.map(({ sessionId }) => sessionId),
      payments.map(({ verdict }) => verdict.detail),
      payments.map(({ verdict }) => verdict.gatewayTransactionId),
      payments.map(({ fence }) => fence?.holder ?? null),
      at,
      payments.map(({ verdict }) => verdict.risk?.level ?? null),
      payments.map(({ verdict }) => verdict.risk?.title ?? null),
    ],
  };
}

function changeOf({ session, verdict, callbackIds: [callbackId] }: Payment) {
  return settlementChange(session, nextState(session, 'paid'), { reason: verdict.detail, callbackId });
}

function finishedBy({ sessionId, verdict, callbackIds }: Payment): Finished[] {
  return callbackIds.map((id) => ({ id, state: 'settled', reason: verdict.detail, sessionId }));
}
