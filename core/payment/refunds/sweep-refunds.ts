// The refund sweep. Asks providers about pending refunds until they are final, and about each paid session on
// a schedule.
//
// It has its own concurrency limit in each slot, so that it never delays verifications. Pending refunds come
// first.

import { inTaskSpan } from '../../../lib/tracing/callback-spans.ts';
import { HOUR_MS } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import type { RetryDelay } from '../provider-retry-delay.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { type SlotSweep, type SweepTiming, startSlotSweep } from '../verification/sweep-loop.ts';
import type { VerifySession } from '../verification/verification-request.ts';
import {
  nextRefundCheck,
  postponePending,
  type ReservedCheck,
  reservePending,
  reserveSessions,
  scheduleCheck,
} from './refund-and-reversal-schedule.ts';
import type { RefundCallbacks } from './refund-callbacks.ts';
import type { RefundSync, SyncRefunds } from './sync-refunds.ts';

export type SweepRefundsOptions = PaymentDependencies &
  RetryDelay &
  SweepTiming & {
    readonly syncRefunds: Pick<SyncRefunds, 'sync'>;
    readonly verifySession: VerifySession;
    readonly callbacks: Pick<RefundCallbacks, 'postpone'>;
  };

/**
 * Time to the next check of a session whose provider did not answer: a part of its age, and at least an hour.
 */
const UNANSWERED_PART = 1 / 8;
const UNANSWERED_MIN_MS = HOUR_MS;
const BUSY_MS = 1_000;

export function startRefundSweep(options: SweepRefundsOptions): SlotSweep {
  const { pool } = options;
  return startSlotSweep<ReservedCheck>({
    ...options,
    reserve: [
      (reservation) => reservePending(pool, reservation),
      (reservation) => reserveSessions(pool, reservation),
    ],
    check: (reserved) =>
      inTaskSpan('refund sweep', formatId('chs', reserved.sessionId), () => checkSession(options, reserved)),
    // A pause after each round bounds the calls to a provider, however many sessions are due.
    refillsAtOnce: false,
    failureMessage: 'the refund sweep could not read the due sessions',
  });
}

async function checkSession(options: SweepRefundsOptions, reserved: ReservedCheck): Promise<void> {
  const { metrics, logger } = options;
  const sessionId = formatId('chs', reserved.sessionId);
  try {
    const result = await syncAndVerify(options, reserved.sessionId);
    await schedule(options, reserved, result);
    metrics.refundSwept(result.kind);
    logger.info({ sessionId, result: result.kind }, 'checked the refunds of a session');
  } catch (error) {
    metrics.refundSwept('error');
    logger.error({ sessionId, err: error }, 'could not check the refunds of a session');
  }
}

/** A verification settles a reversal of the whole payment, like any other answer about the payment. */
async function syncAndVerify(
  { syncRefunds, verifySession }: SweepRefundsOptions,
  sessionId: string,
): Promise<RefundSync> {
  const result = await syncRefunds.sync(sessionId);
  if (result.kind !== 'synced' || !result.isReversed) return result;
  const verified = await verifySession({ sessionId, includePaid: true });
  if (verified.kind === 'unavailable') return { kind: 'unavailable', reason: verified.reason };
  return verified.kind === 'settled' ? result : { kind: 'busy' };
}

async function schedule(
  { pool, clock, callbacks, ...limits }: SweepRefundsOptions,
  reserved: ReservedCheck,
  result: RefundSync,
): Promise<void> {
  const { sessionId, gateway, paidAt } = reserved;
  const now = clock();
  const after = (ms: number): Date => new Date(now.getTime() + ms);
  const regular = nextRefundCheck(gateway, paidAt, now);
  if (result.kind === 'synced' || result.kind === 'nothing') return scheduleCheck(pool, reserved, regular);
  await postponePending(pool, sessionId, now, limits);
  if (result.kind === 'busy') return scheduleCheck(pool, reserved, after(BUSY_MS));
  const forCallbacks = await callbacks.postpone(sessionId, result.reason);
  const ageMs = now.getTime() - paidAt.getTime();
  const later = regular && after(Math.max(UNANSWERED_MIN_MS, ageMs * UNANSWERED_PART));
  await scheduleCheck(pool, reserved, forCallbacks ?? later);
}
