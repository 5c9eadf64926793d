// Settlement: the only transaction that changes a session's status, and safe to repeat.
import type { Pool, PoolClient } from 'pg';
import { recordChangeNow } from '../access/audit.ts';
import type { Clock } from '../clock.ts';
import { formatId, newUuid } from '../ids.ts';
import { inTransaction } from '../storage/transaction.ts';
import type { ChargeStatusName } from './entities.ts';
import { finishCallback, type Outcome } from './journal.ts';
import { logUsage } from './log-usage.ts';
import { formatMoney } from './money.ts';
import type { Verdict, VerificationStep } from './provider.ts';
import { lockSession, type SessionFacts } from './session-facts.ts';

/** A finding about a session, and the callback on whose behalf it was made, if there is one. */
export type Finding = {
  readonly sessionId: string;
  readonly callbackId?: string | undefined;
  readonly steps: readonly VerificationStep[];
  /** `paid_before`: the session was paid already when the callback came, and nobody was asked. */
  readonly verdict: Verdict | { readonly kind: 'paid_before' };
};

export type Settlement = {
  /** What came of the callback. */
  readonly outcome: Outcome;
  /** Whether the session's status is another one now. */
  readonly changed: boolean;
};

export type SettleOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  /** Told after the commit. */
  readonly onChange: (sessionId: string) => void;
};

export function createSettle({ pool, clock, onChange }: SettleOptions) {
  return async (finding: Finding): Promise<Settlement> => {
    const settlement = await inTransaction(pool, async (client) => {
      const session = await lockSession(client, finding.sessionId);
      if (session === undefined) throw new Error(`charge session ${finding.sessionId} is gone`);
      const at = clock();
      await recordSteps(client, finding);
      const applied = await apply(client, session, finding, at);
      if (finding.callbackId !== undefined)
        await finishCallback(client, finding.callbackId, applied.outcome, at);
      return applied;
    });
    if (settlement.changed) onChange(finding.sessionId);
    return settlement;
  };
}

/** Notes what a provider was asked when the answer settled nothing. */
export function createRecordSteps(pool: Pool) {
  return (finding: Omit<Finding, 'verdict'>): Promise<void> => recordSteps(pool, finding);
}

async function apply(
  client: PoolClient,
  session: SessionFacts,
  { verdict, callbackId }: Finding,
  at: Date,
): Promise<Settlement> {
  const done = (state: Outcome['state'], reason: string, changed = false): Settlement => ({
    outcome: { state, reason, sessionId: session.id },
    changed,
  });
  switch (verdict.kind) {
    case 'paid_before':
      return done('settled', PAID_ALREADY);
    case 'paid': {
      if (session.status === 'success') return done('settled', PAID_ALREADY);
      const proof = await logUsage(client, session, verdict.gatewayTransactionId, at);
      if (proof === 'used') return done('mismatch', 'the payment it points at has paid another session');
      await setStatus(client, session, 'success', verdict.detail, at, verdict.gatewayTransactionId);
      return done('settled', verdict.detail, true);
    }
    case 'not_paid': {
      if (session.status === 'success') return done('ignored', 'the session is paid, and stays so');
      const changed = session.status !== verdict.status;
      if (changed) await setStatus(client, session, verdict.status, verdict.detail, at);
      return done('settled', verdict.detail, changed);
    }
    case 'reversed': {
      // Also one that the hub never knew to be paid: it will not be any more.
      if (session.status === 'cancelled') return done('settled', verdict.detail);
      await client.query(
        'update usage_log set reversed_at = $2 where session_id = $1 and reversed_at is null',
        [session.id, at],
      );
      await setStatus(client, session, 'cancelled', verdict.detail, at);
      return done('settled', verdict.detail, true);
    }
    case 'pending':
      if (callbackId !== undefined) await checkSoon(client, session, at);
      return done('ignored', verdict.detail);
    case 'mismatch':
      return done('mismatch', verdict.detail);
  }
}

const PAID_ALREADY = 'the session is paid already';

async function setStatus(
  client: PoolClient,
  session: SessionFacts,
  status: ChargeStatusName,
  reason: string,
  at: Date,
  gatewayTransactionId?: string,
): Promise<void> {
  await client.query({
    name: 'set_status',
    // What is paid is not asked for any more; what is not may still be paid, so the sweep goes on.
    text: `update charge_session
           set status = $2, status_reason = $3, status_changed_at = $4,
               gateway_transaction_id = coalesce($5, gateway_transaction_id),
               next_check_at = case when $2 = 'success' then null else next_check_at end
           where id = $1`,
    values: [session.id, status, reason, at, gatewayTransactionId ?? null],
  });
  await recordChangeNow(client, { name: 'settlement', requestId: '' }, at, {
    action: 'charge_session.settle',
    subject: formatId('chs', session.id),
    detail: { from: session.status, to: status, amount: formatMoney(session.amount), reason },
  });
}

/** A provider may know a moment after its callback what it did not know yet, be the session as old as it may. */
async function checkSoon(client: PoolClient, session: SessionFacts, at: Date): Promise<void> {
  await client.query({
    name: 'check_soon',
    text: `update charge_session set next_check_at = least(next_check_at, $2) where id = $1 and status <> 'success'`,
    values: [session.id, new Date(at.getTime() + CHECK_SOON_MS)],
  });
}

const CHECK_SOON_MS = 15_000;

async function recordSteps(
  db: Pool | PoolClient,
  { sessionId, callbackId, steps }: Omit<Finding, 'verdict'>,
): Promise<void> {
  if (steps.length === 0) return;
  await db.query({
    name: 'record_steps',
    text: `insert into verification (id, session_id, callback_id, operation, outcome, detail, asked_at, duration_ms)
           select id, $1, $2, operation, outcome, detail, asked_at, duration_ms
           from unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::int[])
             as t (id, operation, outcome, detail, asked_at, duration_ms)`,
    values: [
      sessionId,
      callbackId ?? null,
      steps.map(() => newUuid()),
      steps.map((step) => step.operation),
      steps.map((step) => step.outcome),
      steps.map((step) => step.detail),
      steps.map((step) => step.askedAt),
      steps.map((step) => Math.round(step.durationMs)),
    ],
  });
}
