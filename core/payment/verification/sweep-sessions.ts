// The sweep: verifies sessions whose callback waits, never arrived or was false. A session takes one place
// however many callbacks it has.

import { inTaskSpan } from '../../../lib/tracing/callback-spans.ts';
import { DAY_MS } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import type { SweepDuplicates } from '../duplicates/sweep-duplicates.ts';
import { RETRY_DELAY_MAX_MS } from '../provider-retry-delay.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { type SlotSweep, type SweepTiming, startSlotSweep } from './sweep-loop.ts';
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
} from './sweep-schedule.ts';
import type { VerifyResult, VerifySession } from './verification-request.ts';

export type SweepOptions = PaymentDependencies &
  SweepTiming & {
    readonly verifySession: VerifySession;
    /** For paid sessions whose callbacks name another payment. */
    readonly sweepDuplicates: SweepDuplicates;
    readonly schedule: SweepSchedule;
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
const UNJOURNALED_GIVE_UP_MS = DAY_MS;

export function startSweep(options: SweepOptions): SlotSweep {
  const { pool, schedule, reservationMs } = options;
  // Checks follow the schedule, a reservation, or the delay after a provider that gave no answer.
  const latestMs = Math.max(longestInterval(schedule), reservationMs, RETRY_DELAY_MAX_MS) + MAX_SKEW_MS;
  return startSlotSweep<ReservedSession>({
    ...options,
    reserve: [
      async (reservation) => {
        await recallMisscheduled(pool, reservation.now, new Date(reservation.now.getTime() + latestMs));
        return reserveDue(pool, reservation);
      },
    ],
    check: (session, stopping) =>
      inTaskSpan('sweep', formatId('chs', session.id), () => check(options, session, stopping)),
    refillsAtOnce: true,
    failureMessage: 'sweep could not read the due sessions',
  });
}

async function check(options: SweepOptions, session: ReservedSession, stopping: AbortSignal): Promise<void> {
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
    const isCutOff = stopping.aborted && result.kind === 'unavailable';
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
