// Callbacks about refunds. Each makes its session due for the refund sweep, and waits for the result.
import { epochMs } from '../../storage/sql/epoch.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { giveUpCallbacks } from '../callbacks/journaled-callbacks.ts';
import type { PaymentMetrics } from '../metrics.ts';
import { GIVE_UP_AFTER_MS, type RetryDelay, retryDelay } from '../provider-retry-delay.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { countVerification } from '../verification/rate-limit.ts';

export type RefundCallbackOptions = Pick<PaymentDependencies, 'pool' | 'clock'> &
  RetryDelay & { readonly metrics: Pick<PaymentMetrics, 'finished'> };

export type RefundCallbacks = ReturnType<typeof createRefundCallbacks>;

const WAITING = 'waiting for the refunds of the session';
const COUNT_IF_PAID = countVerification(`c.status = 'success'`);

export function createRefundCallbacks(options: RefundCallbackOptions) {
  const { pool, clock } = options;
  return {
    /**
     * Makes the session due for the refund sweep. If the session is paid, the callback waits for the sweep,
     * and this resolves with true. Anybody can send callbacks, so they count towards the rate limit of the
     * session.
     */
    waitForSweep: (sessionId: string, callbackId: string): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const at = clock();
        const { rows } = await client.query<{ status: string }>({
          name: 'mark_refunded_session',
          // charge_session_pkey. Changes the time that a running check has reserved, so that its end
          // schedules nothing.
          text: `update charge_session c
                 set refund_check_at = least(greatest($2::timestamptz, c.verification_allowed_at),
                       c.refund_check_at - interval '1 millisecond'),
                     callbacks_waited = c.callbacks_waited or c.status = 'success', ${COUNT_IF_PAID}
                 where id = $1 returning status`,
          values: [sessionId, at],
        });
        if (rows[0]?.status !== 'success') return false;
        await client.query({
          name: 'leave_refund_callback',
          text: `update callback set session_id = $2, reason = $3, attempts = attempts + 1,
                   tried_since = coalesce(tried_since, $4)
                 where id = $1 and state = 'received'`,
          values: [callbackId, sessionId, WAITING, at],
        });
        return true;
      }),

    /**
     * After a check without an answer: gives up old callbacks. Resolves with the time of the next check for
     * the others.
     */
    async postpone(sessionId: string, reason: string): Promise<Date | undefined> {
      const at = clock();
      const { rows } = await pool.query<{ id: string; gateway: string; waitedMs: number }>({
        name: 'postpone_refund_callbacks',
        // callback_waiting_idx
        text: `update callback set reason = $2, attempts = attempts + 1,
               tried_since = coalesce(tried_since, $3)
               where session_id = $1 and state = 'received'
               returning id, gateway, ${epochMs('$3 - tried_since')} as "waitedMs"`,
        values: [sessionId, reason, at],
      });
      const old = rows.filter(({ waitedMs }) => waitedMs >= GIVE_UP_AFTER_MS);
      await giveUpCallbacks(options, sessionId, old, reason);
      const waited = rows
        .filter(({ waitedMs }) => waitedMs < GIVE_UP_AFTER_MS)
        .map(({ waitedMs }) => waitedMs);
      if (waited.length === 0) return undefined;
      return new Date(at.getTime() + retryDelay(Math.max(...waited), options));
    },
  };
}
