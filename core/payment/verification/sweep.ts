// The sweep: verifies sessions whose callback waits, never arrived or was false.
//
// Each slot has its own places, so that a provider that hangs holds up only its own sessions. Within a slot
// the session that has been due the longest comes first, and a session takes one place however many
// callbacks it has.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../../lib/metrics/tasks.ts';
import { inTaskSpan } from '../../../lib/tracing/callback-spans.ts';
import type { Clock } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import type { SweepDuplicates } from '../duplicates/sweep-duplicates.ts';
import type { PaymentMetrics } from '../metrics.ts';
import type { VerifyResult, VerifySession } from './request.ts';
import {
  EARLY_CHECK_MS,
  longestInterval,
  type NextChecks,
  nextCheck,
  type ReservedSession,
  recallMisscheduled,
  reserveDue,
  type SweepSchedule,
  scheduleNext,
} from './schedule.ts';

export type SweepOptions = {
  readonly pool: Pool;
  readonly verifySession: VerifySession;
  /** For paid sessions whose callbacks name another payment. */
  readonly sweepDuplicates: SweepDuplicates;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<PaymentMetrics, 'swept'>;
  readonly task: Task;
  readonly schedule: SweepSchedule;
  /** Sessions of one slot that this hub verifies at the same time. */
  readonly concurrency: number;
  /** Milliseconds between two looks for due sessions. */
  readonly intervalMs: number;
  /** Milliseconds that a session is reserved for the hub that verifies it. */
  readonly reservationMs: number;
};

/**
 * The minimum number of checks. A session may grow older than a day while no hub runs or a clock is wrong.
 */
const MIN_CHECKS = 4;
/** The largest difference between the clocks of hubs that counts as normal. */
const MAX_SKEW_MS = 60_000;
/** Until the next check for callbacks that arrived during a verification. */
const BUSY_RETRY_MS = 1_000;
/** Until the next check for unjournaled callbacks while the provider does not answer. */
const UNJOURNALED_RETRY_MS = 60_000;
/** How long the sweep verifies for unjournaled callbacks. */
const UNJOURNALED_GIVE_UP_MS = 24 * 60 * 60 * 1000;

export type Sweep = {
  /** Starts no more verifications, and waits for those that run. */
  stop(): Promise<void>;
};

export function startSweep(options: SweepOptions): Sweep {
  const { pool, clock, logger, task, schedule, concurrency, intervalMs, reservationMs } = options;
  const checks = new Set<Promise<void>>();
  const running = new Map<string, number>();
  let stopped = false;
  let wake = (): void => {};

  const start = (session: ReservedSession): void => {
    const { slotId } = session;
    running.set(slotId, (running.get(slotId) ?? 0) + 1);
    const checking = inTaskSpan('sweep', formatId('chs', session.id), () =>
      check(options, session, () => stopped),
    ).finally(() => {
      checks.delete(checking);
      const left = (running.get(slotId) ?? 1) - 1;
      if (left === 0) running.delete(slotId);
      else running.set(slotId, left);
      // More sessions of the slot may be due than it had places for.
      if (left === concurrency - 1) wake();
    });
    checks.add(checking);
  };

  const run = async (): Promise<void> => {
    while (!stopped) {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      try {
        const now = clock();
        const latestMs = Math.max(longestInterval(schedule), reservationMs) + MAX_SKEW_MS;
        await recallMisscheduled(pool, now, new Date(now.getTime() + latestMs));
        const due = await reserveDue(pool, { now, durationMs: reservationMs, limit: concurrency, running });
        due.forEach(start);
        task.succeeded();
      } catch (error) {
        task.failed();
        logger.warn({ err: error }, 'sweep could not read the due sessions');
      }
      const timer = setTimeout(wake, intervalMs);
      if (!stopped) await woken.promise;
      clearTimeout(timer);
    }
  };
  const loop = run();

  return {
    async stop() {
      stopped = true;
      wake();
      await loop;
      await Promise.all(checks);
    },
  };
}

async function check(
  options: SweepOptions,
  session: ReservedSession,
  isStopped: () => boolean,
): Promise<void> {
  const { metrics, logger } = options;
  const sessionId = formatId('chs', session.id);
  try {
    const { otherPaymentSince } = session;
    if (otherPaymentSince !== undefined) {
      const result = await options.sweepDuplicates({ ...session, otherPaymentSince });
      metrics.swept(result);
      logger.info({ sessionId, result }, 'sweep checked a paid session for duplicate payments');
      return;
    }
    const result = await options.verifySession({ sessionId: session.id });
    const next = nextChecks(session, result, options.schedule, options.clock());
    // A verification that the end of this hub cut off is for another hub to repeat at once.
    const isCutOff = isStopped() && result.kind === 'unavailable';
    await scheduleNext(options.pool, session, isCutOff ? { ...next, regular: options.clock() } : next);
    metrics.swept(result.kind);
    logger.info({ sessionId, result: result.kind }, 'sweep verified a session');
  } catch (error) {
    metrics.swept('error');
    logger.error({ sessionId, err: error }, 'sweep could not verify a session');
  }
}

function nextChecks(
  { createdAt, reservedAt, checks }: ReservedSession,
  result: VerifyResult,
  schedule: SweepSchedule,
  now: Date,
): NextChecks {
  const after = (from: Date, ms: number): Date => new Date(from.getTime() + ms);
  const later = after(reservedAt, longestInterval(schedule));
  const retryMs = result.kind === 'unavailable' ? result.nextInMs : undefined;
  const unjournaled = unjournaledCheck(result.kind);
  const pendingUntil = result.kind === 'settled' ? result.pendingUntil : undefined;
  const isLate = checks < MIN_CHECKS || (pendingUntil !== undefined && pendingUntil > now);
  return {
    regular: nextCheck(schedule, createdAt, reservedAt) ?? (isLate ? later : undefined),
    ifWaiting: after(now, retryMs ?? BUSY_RETRY_MS),
    ifUnjournaled: { since: after(reservedAt, -unjournaled.sinceMs), at: after(now, unjournaled.inMs) },
    ifHeld: later,
  };
}

/**
 * An answer counts for callbacks that arrived well before it: a provider may report a payment a moment later.
 */
function unjournaledCheck(kind: VerifyResult['kind']): { readonly sinceMs: number; readonly inMs: number } {
  switch (kind) {
    case 'settled':
      return { sinceMs: EARLY_CHECK_MS, inMs: EARLY_CHECK_MS };
    case 'unavailable':
      return { sinceMs: UNJOURNALED_GIVE_UP_MS, inMs: UNJOURNALED_RETRY_MS };
    case 'busy':
    case 'rate_limited':
      return { sinceMs: UNJOURNALED_GIVE_UP_MS, inMs: BUSY_RETRY_MS };
  }
}
