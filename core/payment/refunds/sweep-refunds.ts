// The refund sweep. Asks providers about pending refunds until they are final, and about each paid session on
// a schedule.
//
// It has its own concurrency limit in each slot, so that it never delays verifications. Pending refunds come
// first.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import { inTaskSpan } from '../../../lib/tracing/callback-spans.ts';
import type { Clock } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import type { PaymentMetrics } from '../metrics.ts';
import type { RetryDelayLimits } from '../retry-delay.ts';
import type { VerifySession } from '../verification/request.ts';
import type { RefundCallbacks } from './refund-callbacks.ts';
import {
  nextRefundCheck,
  postponePending,
  type ReservedCheck,
  reservePending,
  reserveSessions,
  scheduleCheck,
} from './schedule.ts';
import type { RefundSync, SyncRefunds } from './sync-refunds.ts';

export type SweepRefundsOptions = RetryDelayLimits & {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<PaymentMetrics, 'refundSwept'>;
  readonly task: Task;
  readonly syncRefunds: Pick<SyncRefunds, 'sync'>;
  readonly verifySession: VerifySession;
  readonly callbacks: Pick<RefundCallbacks, 'postpone'>;
  /**
   * Sessions of one slot that this hub asks about at the same time, and starts to ask about in one interval.
   */
  readonly concurrency: number;
  readonly intervalMs: number;
  /** Milliseconds that a session is reserved for the hub that asks about it. */
  readonly reservationMs: number;
};

/**
 * Time to the next check of a session whose provider did not answer: a part of its age, and at least an hour.
 */
const UNANSWERED_PART = 1 / 8;
const UNANSWERED_MIN_MS = 60 * 60 * 1000;
const BUSY_MS = 1_000;

export type RefundSweep = {
  /** Starts no more checks, and waits for those that run. */
  stop(): Promise<void>;
};

export function startRefundSweep(options: SweepRefundsOptions): RefundSweep {
  const { pool, clock, logger, task, concurrency, intervalMs, reservationMs } = options;
  const checks = new Set<Promise<void>>();
  const running = new Map<string, number>();
  const stopping = new AbortController();

  const start = (reserved: ReservedCheck): void => {
    const { slotId, sessionId } = reserved;
    running.set(slotId, (running.get(slotId) ?? 0) + 1);
    const check = inTaskSpan('refund sweep', formatId('chs', sessionId), () =>
      checkSession(options, reserved),
    ).finally(() => {
      checks.delete(check);
      const left = (running.get(slotId) ?? 1) - 1;
      if (left === 0) running.delete(slotId);
      else running.set(slotId, left);
    });
    checks.add(check);
  };

  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const reservation = { now: clock(), durationMs: reservationMs, limit: concurrency, running };
        (await reservePending(pool, reservation)).forEach(start);
        (await reserveSessions(pool, reservation)).forEach(start);
        task.succeeded();
      } catch (error) {
        task.failed();
        logger.warn({ err: error }, 'the refund sweep could not read the due sessions');
      }
      // A pause after each round bounds the calls to a provider, however many sessions are due.
      await pause(intervalMs, stopping.signal);
    }
  };
  const loop = run();

  return {
    async stop() {
      stopping.abort();
      await loop;
      await Promise.all(checks);
    },
  };
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
