// The sweep's turn at a paid session whose callbacks name another payment.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import type { FindDuplicates } from './find-duplicates.ts';
import type { PaymentMeter } from './payment-meter.ts';
import { NEXT_QUESTION_AFTER } from './question-budget.ts';

/** A paid session that the sweep has taken until `claimedUntil`. */
export type DueForDuplicates = {
  readonly id: string;
  readonly claimedUntil: Date;
  /** When a callback first named another payment, since the provider last answered. */
  readonly otherPaymentSince: Date;
};

export type SweepDuplicatesOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: Pick<PaymentMeter, 'duplicateCheck'>;
  readonly findDuplicates: FindDuplicates;
  readonly retryDelayMs: number;
  readonly retryDelayMaxMs: number;
  readonly giveUpAfterMs: number;
};

/**
 * Asks, and says what came of it. A provider that does not answer is asked again, with pauses that double. Payment ids that
 * are left are asked about next, within the session's budget of questions.
 */
export function createSweepDuplicates(options: SweepDuplicatesOptions) {
  const { pool, clock, logger, meter, findDuplicates } = options;
  return async ({ id, claimedUntil, otherPaymentSince }: DueForDuplicates): Promise<string> => {
    const checked = await findDuplicates(id);
    const waitedMs = clock().getTime() - otherPaymentSince.getTime();
    const isGivenUp = checked.kind === 'unavailable' && waitedMs >= options.giveUpAfterMs;
    if (isGivenUp) {
      meter.duplicateCheck('given_up');
      logger.error(
        { sessionId: formatId('chs', id), reason: checked.reason },
        'gave up checking for duplicate payments, the provider did not answer: run hubctl session recheck',
      );
    }
    const isMore = checked.kind === 'checked' && checked.left > 0;
    const isDone = (checked.kind === 'checked' && !isMore) || isGivenUp;
    const pauseMs = isMore
      ? 0
      : checked.kind === 'busy'
        ? options.retryDelayMs
        : Math.min(Math.max(waitedMs, options.retryDelayMs), options.retryDelayMaxMs);
    await pool.query({
      name: 'schedule_duplicate_check',
      // charge_session_pkey. Another callback that named a payment meanwhile has set another time, which stands.
      text: `update charge_session c
             set next_check_at = case when $4 then greatest($3::timestamptz, c.question_after) else $3 end,
                 other_payment_since = case when $4 then $3 when $3 is not null then c.other_payment_since end,
                 callback_questions = c.callback_questions + $4::int,
                 question_after = case when $4 then ${NEXT_QUESTION_AFTER} else c.question_after end
             where id = $1 and next_check_at = $2 and status = 'success'`,
      values: [id, claimedUntil, isDone ? null : new Date(clock().getTime() + pauseMs), isMore],
    });
    return isGivenUp ? 'given_up' : checked.kind;
  };
}
