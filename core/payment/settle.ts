// Settlement: the only transaction that changes a session's status, and safe to repeat.
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import type { Logger } from 'pino';
import { recordChangeNow } from '../access/audit.ts';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { inTransaction } from '../storage/transaction.ts';
import { CHECK_SOON_MS, checkBy } from './check-soon.ts';
import { finishWaiting } from './finish-waiting.ts';
import { finishCallbacks, type Outcome } from './journal.ts';
import { logPayment, logReversal } from './log-usage.ts';
import { isContested, nextState, type SessionState, type StatusEvent } from './next-state.ts';
import { markOtherPayments } from './other-payments.ts';
import type { PaymentMeter } from './payment-meter.ts';
import { ProviderUnavailable } from './provider.ts';
import { holdSession, noteRisk } from './risk-statements.ts';
import { lockSession, type SessionFacts } from './session-facts.ts';
import { createSettleTogether, isPaid } from './settle-together.ts';
import {
  type Cause,
  type CheckoutMade,
  type Finding,
  isFenced,
  PAID_BEFORE,
  recordSteps,
  SETTLEMENT,
  type Settlement,
  settlementChange,
} from './settlement.ts';
import { endLease, type Fence } from './verification-lease.ts';

const STAYS_PAID = 'the session is paid, and stays so';

export type SettleOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly meter: PaymentMeter;
  readonly logger: Pick<Logger, 'warn'>;
  /** Told after the commit. */
  readonly onChange: (sessionId: string) => void;
};

/**
 * Settles a session by a finding. Undefined if somebody else has taken the lease since, under which the provider was
 * asked: nothing is changed or finished then, and the provider is to be asked again.
 */
export type Settle = {
  (finding: Finding & { readonly fence?: undefined }): Promise<Settlement>;
  (finding: Finding & { readonly fence: Fence }): Promise<Settlement | undefined>;
};

export function createSettle({ pool, clock, meter, logger, onChange }: SettleOptions): Settle {
  const settleTogether = createSettleTogether({ pool, clock, meter });
  const settleAlone = async (finding: Finding): Promise<Settlement | undefined> => {
    const settled = await inTransaction(pool, async (client, send) => {
      const session = await lockSession(client, finding.sessionId);
      if (session === undefined) throw new Error(`charge session ${finding.sessionId} is gone`);
      if (finding.steps.length > 0) send(recordSteps([finding]));
      if (isFenced(finding, session)) return { session };
      const at = clock();
      const applied = await apply(client, session, finding, at);
      const finished = await finishCallbacks(client, finding.callbackIds, applied.outcome, at);
      const paid = finding.verdict.kind === 'paid' || finding.verdict.kind === 'paid_before';
      const isPaid = paid && applied.outcome.state === 'settled';
      const marking = isPaid ? markOtherPayments(session, finding.namedPayments, at) : undefined;
      if (marking !== undefined) send(marking);
      const waited = isPaid ? send(finishWaiting([session.id], at)) : undefined;
      if (finding.fence !== undefined) send(endLease(session.id, finding.fence.holder));
      return { session, applied, finished, waited };
    });
    const { session, applied, finished = 0, waited } = settled;
    if (applied === undefined) {
      meter.fenced(session.slot);
      logger.warn(
        {
          sessionId: formatId('chs', session.id),
          answer: finding.verdict.detail,
          fencingNumber: finding.fence?.fencingNumber,
          currentNumber: session.fencingNumber,
        },
        'an answer came after the verification lease was lost: nothing is settled by it, and the provider is asked again',
      );
      return undefined;
    }
    meter.finished(session.gateway, applied.outcome.state, finished);
    meter.finished(session.gateway, 'settled', (await waited)?.rowCount ?? 0);
    if (applied.became !== undefined) meter.statusChanged(session, applied.became);
    return applied;
  };
  const settle = async (finding: Finding): Promise<Settlement | undefined> => {
    const settlement = (isPaid(finding) && (await settleTogether(finding))) || (await settleAlone(finding));
    if (settlement?.changed) onChange(finding.sessionId);
    return settlement;
  };
  return settle as Settle; // without a fence there is always a settlement
}

/** Notes what a provider was asked when the answer settled nothing. */
export function createRecordSteps(pool: Pool) {
  return async (finding: Omit<Finding, 'verdict'>): Promise<void> => {
    if (finding.steps.length > 0) await pool.query(recordSteps([finding]));
  };
}

async function apply(
  client: PoolClient,
  session: SessionFacts,
  { verdict, callbackIds }: Finding,
  at: Date,
): Promise<Settlement> {
  let next: SessionState = session;
  const done = (state: Outcome['state'], reason: string, changed = false): Settlement => ({
    outcome: { state, reason, sessionId: session.id },
    changed,
    ...(changed && next.status !== session.status && { became: next.status }),
  });
  const [callbackId] = callbackIds;
  const become = async (event: StatusEvent, proof?: string): Promise<boolean> => {
    next = nextState(session, event);
    if (next === session) return false;
    await setState(client, session, next, { reason: verdict.detail, at, callbackId, proof });
    return true;
  };
  const mismatch = async (detail: string): Promise<Settlement> => {
    const reason = `a payment that does not fit was found: ${detail}`;
    if (session.status !== 'success') await noteReason(client, session, { reason, at, callbackId });
    return done('mismatch', detail);
  };
  switch (verdict.kind) {
    case 'paid_before':
      return done('settled', verdict.detail);
    case 'paid': {
      if (session.status === 'success') return done('settled', PAID_BEFORE.detail);
      const proof = await logPayment(client, session, verdict, at);
      if (proof === 'used') return mismatch('the payment it points at has paid another session');
      await noteRisk(client, session.id, verdict.risk);
      return done('settled', verdict.detail, await become('paid', verdict.gatewayTransactionId));
    }
    case 'held': {
      if (session.status === 'success') return done('settled', PAID_BEFORE.detail);
      if (!session.holdsRisky) {
        // Released, or the option changed, while the provider was asked: the next question settles it.
        await checkBy(client, session.id, at);
        return done('ignored', "no longer held (released, or the slot's option changed): it is asked again");
      }
      await holdSession(client, session.id, verdict.risk, at);
      const changed = await become('held');
      if (!changed) await noteReason(client, session, { reason: verdict.detail, at, callbackId });
      return done('settled', verdict.detail, changed);
    }
    case 'not_paid': {
      if (session.status === 'success') return done('ignored', STAYS_PAID);
      return done('settled', verdict.detail, await become(verdict.status));
    }
    case 'claimed': {
      const event = verdict.status === 'failed' ? 'claimed_failed' : 'claimed_cancelled';
      const changed = await become(event);
      if (changed || session.status === verdict.status) return done('settled', verdict.detail, changed);
      if (session.status === 'success') return done('ignored', STAYS_PAID);
      return done(
        'ignored',
        isContested(session)
          ? 'the callbacks of the session contradict each other'
          : 'the provider itself said otherwise',
      );
    }
    case 'reversed':
      // Also one that the hub never knew to be paid: it will not be any more.
      if (session.status === 'success') await logReversal(client, session, at);
      return done('settled', verdict.detail, await become('reversed'));
    case 'pending':
      if (callbackIds.length > 0) await checkBy(client, session.id, new Date(at.getTime() + CHECK_SOON_MS));
      return done('ignored', verdict.detail);
    case 'mismatch':
      return mismatch(verdict.detail);
    case 'checkout_made':
      await storeCheckout(client, session.id, verdict);
      return done('settled', verdict.detail, await become('checkout_made'));
    case 'checkout_refused':
      return done('settled', verdict.detail, await become('checkout_refused'));
  }
}

async function setState(
  client: PoolClient,
  session: SessionFacts,
  next: SessionState,
  { proof, at, ...cause }: Cause & { readonly at: Date; readonly proof: string | undefined },
): Promise<void> {
  await client.query({
    name: 'set_state',
    // What is paid is not asked for any more; what is not may still be paid, so the sweep goes on.
    text: `update charge_session
           set status = $2, status_verified = $3, status_claims = $7, status_reason = $4,
               status_changed_at = case when status = $2 then status_changed_at else $5 end,
               gateway_transaction_id = coalesce($6, gateway_transaction_id),
               next_check_at = case when $2 = 'success' then null else next_check_at end,
               held_at = case when $2 = 'pending' then held_at end,
               risk_released_at = case when $2 in ('pending', 'success') then risk_released_at end,
               other_payment_since = case when $2 = 'success' then other_payment_since end
           where id = $1`,
    values: [session.id, next.status, next.verified, cause.reason, at, proof ?? null, next.claims],
  });
  await recordChangeNow(client, SETTLEMENT, at, settlementChange(session, next, cause));
}

/** The status stays, and what is to be said of it is another thing now. */
async function noteReason(
  client: PoolClient,
  session: SessionFacts,
  { at, ...cause }: Cause & { readonly at: Date },
): Promise<void> {
  const { rowCount } = await client.query({
    name: 'note_reason',
    text: 'update charge_session set status_reason = $2 where id = $1 and status_reason <> $2',
    values: [session.id, cause.reason],
  });
  if (rowCount === 1)
    await recordChangeNow(client, SETTLEMENT, at, settlementChange(session, session, cause));
}

/** @throws ProviderUnavailable if the provider gave the same payment id before */
async function storeCheckout(
  client: PoolClient,
  sessionId: string,
  { checkout, checkAt, detail }: CheckoutMade,
): Promise<void> {
  try {
    await client.query({
      name: 'store_checkout',
      text: `update charge_session
             set provider_payment_id = $2, checkout_url = $3,
                 status_reason = case when status = 'pending' then $4 else status_reason end,
                 next_check_at = case when status <> 'success' then $5::timestamptz end
             where id = $1 and checkout_url is null`,
      values: [sessionId, checkout.providerPaymentId, checkout.checkoutUrl, detail, checkAt ?? null],
    });
  } catch (error) {
    const isTaken =
      error instanceof DatabaseError && error.constraint === 'charge_session_provider_payment_id_key';
    throw isTaken ? new ProviderUnavailable('the provider gave the payment id of another session') : error;
  }
}
