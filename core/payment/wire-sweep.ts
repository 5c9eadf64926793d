// Wires the sweep and its check for duplicate payments.

import { DAY_MS } from '../clock.ts';
import { createFindDuplicates } from './duplicates/find-and-store-duplicates.ts';
import { createSweepDuplicates } from './duplicates/sweep-duplicates.ts';
import { type PaymentConfig, type PaymentContext, sweepSchedule } from './module-options.ts';
import { startSweep } from './verification/sweep-sessions.ts';
import type { VerificationParts } from './wire-verification.ts';

export function wireSweep(context: PaymentContext, verification: VerificationParts) {
  const { shared, tasks, config, leaseMs, undo } = context;
  const findDuplicates = createFindDuplicates({ ...shared, ...verification });
  const schedule = sweepSchedule(config);
  const sweep = startSweep({
    ...shared,
    verifySession: verification.verifySession,
    sweepDuplicates: createSweepDuplicates({ ...shared, findDuplicates }),
    task: tasks.of('sweep'),
    schedule,
    // The other places are for verifications that callbacks trigger.
    concurrency: Math.ceil(config.providerQuestions / 2),
    intervalMs: sweepInterval(config),
    reservationMs: leaseMs,
  });
  undo.defer(() => sweep.stop());
  return { findDuplicates, schedule };
}

/** Short enough for the first check of a session, and for retries, to be about on time. */
export function sweepInterval({ sweepAfterMs }: PaymentConfig): number {
  const [first = DAY_MS] = sweepAfterMs;
  return Math.min(Math.max(first / 4, 250), 1_000);
}
