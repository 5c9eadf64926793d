// The sweep's check of a paid session whose callbacks name another payment.
import { formatId } from '../../ids.ts';
import { GIVE_UP_AFTER_MS, type RetryDelay, retryDelay } from '../provider-retry-delay.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { countVerification } from '../verification/rate-limit.ts';
import type { DuplicateCheck, FindDuplicates } from './find-and-store-duplicates.ts';

export type SweepDuplicatesOptions = PaymentDependencies &
  RetryDelay & { readonly findDuplicates: FindDuplicates };

export type SweepDuplicates = (session: {
  readonly id: string;
  readonly reservedUntil: Date;
  /** When a callback first named another payment since the provider last answered. */
  readonly otherPaymentSince: Date;
}) => Promise<DuplicateCheck['kind'] | 'given_up'>;

/**
 * Checks the session and schedules the next check: after the retry delay while the provider does not
 * answer, and as soon as the rate limit allows while payment ids are left.
 */
export function createSweepDuplicates(options: SweepDuplicatesOptions): SweepDuplicates {
  const { pool, clock, logger, metrics, findDuplicates } = options;
  return async ({ id, reservedUntil, otherPaymentSince }) => {
    const checked = await findDuplicates(id);
    const waitedMs = clock().getTime() - otherPaymentSince.getTime();
    const isGivenUp = checked.kind === 'unavailable' && waitedMs >= GIVE_UP_AFTER_MS;
    if (isGivenUp) {
      metrics.duplicateCheck('given_up');
      logger.error(
        { sessionId: formatId('chs', id), reason: checked.reason },
        'gave up checking for duplicate payments, the provider did not answer: run hubctl session recheck',
      );
    }
    const hasMore = checked.kind === 'checked' && checked.left > 0;
    const isDone = (checked.kind === 'checked' && !hasMore) || isGivenUp;
    const pauseMs = hasMore
      ? 0
      : checked.kind === 'busy'
        ? options.retryDelayMs
        : retryDelay(waitedMs, options);
    await pool.query({
      name: 'schedule_duplicate_check',
      text: SCHEDULE,
      values: [id, reservedUntil, isDone ? null : new Date(clock().getTime() + pauseMs), hasMore],
    });
    return isGivenUp ? 'given_up' : checked.kind;
  };
}

// charge_session_pkey. The time that a callback has set since then stays.
const SCHEDULE = `update charge_session c
  set next_check_at = case when $4 then greatest($3::timestamptz, c.verification_allowed_at) else $3 end,
      other_payment_since = case when $4 then $3 when $3 is not null then c.other_payment_since end,
      ${countVerification('$4')}
  where id = $1 and next_check_at = $2 and status = 'success'`;
