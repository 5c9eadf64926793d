// Creates the checkout of a charge session at its provider.
import type { Pool } from 'pg';
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import {
  type CheckoutRequest,
  ProviderRefused,
  ProviderUnavailable,
  type VerificationStep,
} from '../providers/driver.ts';
import { canHaveCheckout } from '../settlement/decide.ts';
import type { Settle } from '../settlement/settle.ts';
import { recordSteps } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { Providers } from '../slots/provider-connections.ts';
import type { VerificationLease } from '../verification/lease.ts';
import { nextCheck, type SweepSchedule } from '../verification/sweep-schedule.ts';
import { readSession, type StoredSession } from './read-sessions.ts';

export type CheckoutOptions = Pick<PaymentDependencies, 'pool' | 'clock' | 'metrics'> & {
  readonly providers: Providers;
  readonly schedule: SweepSchedule;
  readonly settle: Settle;
};

/**
 * Creates the checkout of a session that needs one. Run it under the session's verification lease, so that
 * concurrent calls create only one. Resolves with false if the lease was lost before the settlement.
 *
 * @throws HubError `slot_disabled`, `provider_refused` or `provider_unavailable`
 */
export function createCheckout(
  { pool, clock, providers, schedule, settle, metrics }: CheckoutOptions,
  id: string,
  request: Omit<CheckoutRequest, 'sessionId' | 'merchantTransactionId' | 'amount'>,
) {
  const sessionId = formatId('chs', id);
  return async ({ session, limitHttp, fence, markEnded }: VerificationLease): Promise<boolean> => {
    if (!lacksCheckout(session)) return true;
    if (session.slotDisabled) {
      throw new HubError('slot_disabled', 'the slot is disabled', { field: 'slot', sessionId });
    }
    const steps: VerificationStep[] = [];
    const finding = { sessionId: id, callbackIds: [], steps };
    try {
      const checkout = await metrics.checkout(session.slot, async () => {
        const { driver, access } = await providers.forSlot(session.slotId, (step) => steps.push(step));
        return driver.createCheckout(
          { ...access, http: limitHttp(access.http) },
          {
            ...request,
            sessionId,
            merchantTransactionId: session.merchantTransactionId,
            amount: session.amount,
          },
        );
      });
      // The schedule starts now, because the customer can pay only from now on.
      const now = clock();
      const checkAt = nextCheck(schedule, now, now);
      const verdict = { kind: 'checkout_made', checkout, checkAt, detail: WAITING } as const;
      const settlement = await settle({ ...finding, verdict, fence });
      markEnded();
      return settlement !== undefined;
    } catch (error) {
      if (error instanceof ProviderRefused) {
        const verdict = { kind: 'checkout_refused', detail: error.message } as const;
        const settlement = await settle({ ...finding, verdict, fence });
        markEnded();
        if (settlement === undefined) return false;
        throw new HubError('provider_refused', `slot ${session.slot}: ${error.message}`, { sessionId });
      }
      if (!(error instanceof ProviderUnavailable)) throw error;
      if (steps.length > 0) await pool.query(recordSteps([finding]));
      throw new HubError('provider_unavailable', `slot ${session.slot}: ${error.message}`, { sessionId });
    }
  };
}

const WAITING = 'waiting for the customer';

/** Whether a session has no checkout and can still be paid. */
export async function needsCheckout(pool: Pool, id: string): Promise<boolean> {
  const session = await readSession(pool, id);
  if (session === undefined) throw new Error(`charge session ${id} is gone`);
  return lacksCheckout(session);
}

function lacksCheckout(session: StoredSession): boolean {
  return session.providerPaymentId === undefined && canHaveCheckout(session);
}
