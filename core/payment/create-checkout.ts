// Creates the checkout of a charge session at its provider.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import type { Providers } from './ask-provider.ts';
import type { ChargeStatusName } from './entities.ts';
import { canHaveCheckout } from './next-state.ts';
import type { PaymentMeter } from './payment-meter.ts';
import {
  type CheckoutRequest,
  ProviderRefused,
  ProviderUnavailable,
  type VerificationStep,
} from './provider.ts';
import type { createRecordSteps, Settle } from './settle.ts';
import { nextCheck, type SweepSchedule } from './sweep.ts';
import type { Lease } from './verification-lease.ts';

export type CheckoutOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly providers: Providers;
  readonly schedule: SweepSchedule;
  readonly settle: Settle;
  readonly recordSteps: ReturnType<typeof createRecordSteps>;
  readonly meter: PaymentMeter;
};

/**
 * Creates the checkout of a session if it wants one. To be run under the session's lease, so that there is one at most.
 * Resolves with false if the lease was lost before the answer could be settled.
 *
 * @throws HubError `slot_disabled`, `provider_refused` or `provider_unavailable`
 */
export function createCheckout(
  { pool, clock, providers, schedule, settle, recordSteps, meter }: CheckoutOptions,
  id: string,
  request: Omit<CheckoutRequest, 'sessionId' | 'merchantTransactionId'>,
) {
  const sessionId = formatId('chs', id);
  return async ({ within, fence, ended }: Lease): Promise<boolean> => {
    const session = await readCheckoutState(pool, id);
    if (!isWanted(session)) return true;
    if (session.disabled) {
      throw new HubError('slot_disabled', 'the slot is disabled', { field: 'slot', sessionId });
    }
    const steps: VerificationStep[] = [];
    const finding = { sessionId: id, callbackIds: [], steps };
    try {
      const checkout = await meter.checkout(session.slot, async () => {
        const { driver, access } = await providers.forSlot(session.slotId, (step) => steps.push(step));
        return driver.createCheckout(
          { ...access, http: within(access.http) },
          { ...request, sessionId, merchantTransactionId: session.merchantTransactionId },
        );
      });
      // Its customer can pay from now on, however long ago the session was created.
      const now = clock();
      const checkAt = nextCheck(schedule, now, now);
      const verdict = { kind: 'checkout_made', checkout, checkAt, detail: WAITING } as const;
      const settlement = await settle({ ...finding, verdict, fence });
      ended();
      return settlement !== undefined;
    } catch (error) {
      if (error instanceof ProviderRefused) {
        const verdict = { kind: 'checkout_refused', detail: error.message } as const;
        const settlement = await settle({ ...finding, verdict, fence });
        ended();
        if (settlement === undefined) return false;
        throw new HubError('provider_refused', `slot ${session.slot}: ${error.message}`, { sessionId });
      }
      if (!(error instanceof ProviderUnavailable)) throw error;
      await recordSteps(finding);
      throw new HubError('provider_unavailable', `slot ${session.slot}: ${error.message}`, { sessionId });
    }
  };
}

const WAITING = 'waiting for the customer';

/** Whether a session has no checkout, and could still be paid if it had. */
export async function wantsCheckout(pool: Pool, id: string): Promise<boolean> {
  return isWanted(await readCheckoutState(pool, id));
}

type CheckoutState = {
  readonly slotId: string;
  /** Its name. */
  readonly slot: string;
  readonly merchantTransactionId: string;
  readonly status: ChargeStatusName;
  readonly verified: boolean;
  readonly made: boolean;
  readonly disabled: boolean;
};

function isWanted(session: CheckoutState): boolean {
  return !session.made && canHaveCheckout(session);
}

async function readCheckoutState(pool: Pool, id: string): Promise<CheckoutState> {
  const { rows } = await pool.query<CheckoutState>({
    name: 'checkout_state',
    text: `select c.slot_id as "slotId", s.name as slot, c.merchant_transaction_id as "merchantTransactionId", c.status,
                  c.status_verified as verified, c.checkout_url is not null as made, s.disabled_at is not null as disabled
           from charge_session c join slot s on s.id = c.slot_id where c.id = $1`,
    values: [id],
  });
  const [session] = rows;
  if (session === undefined) throw new Error(`charge session ${id} is gone`);
  return session;
}
