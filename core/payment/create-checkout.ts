// Creates the checkout of a charge session at its provider.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import type { Providers } from './ask-provider.ts';
import { type CheckoutRequest, ProviderRefused, ProviderUnavailable } from './provider.ts';
import { nextCheck, type SweepSchedule } from './sweep.ts';
import type { Lease } from './verification-lease.ts';

export type CheckoutOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly providers: Providers;
  readonly schedule: SweepSchedule;
};

export type CheckoutlessSession = {
  readonly id: string;
  readonly slotId: string;
  readonly gateway: string;
  readonly merchantTransactionId: string;
  readonly createdAt: Date;
};

/**
 * Creates the checkout of a session that has none yet. Runs under the session's lease, so that there is one at most.
 *
 * @throws HubError `provider_refused` or `provider_unavailable`
 */
export async function createCheckout(
  { pool, clock, providers, schedule }: CheckoutOptions,
  { within }: Lease,
  session: CheckoutlessSession,
  {
    amount,
    orderReference,
    customer,
    callbackUrl,
  }: Omit<CheckoutRequest, 'sessionId' | 'merchantTransactionId'>,
): Promise<true> {
  if (await hasCheckout(pool, session.id)) return true;
  try {
    const { driver, access } = await providers.forSlot(session.slotId, () => {});
    const own = { ...access, http: within(access.http) };
    const checkout = await driver.createCheckout(own, {
      sessionId: formatId('chs', session.id),
      merchantTransactionId: session.merchantTransactionId,
      amount,
      callbackUrl,
      orderReference,
      customer,
    });
    await pool.query(
      // A session that failed only because the provider refused its first checkout has another chance.
      `update charge_session
       set provider_payment_id = $2, checkout_url = $3, next_check_at = $4, status = 'pending',
           status_reason = 'waiting for the customer'
       where id = $1 and checkout_url is null`,
      [
        session.id,
        checkout.providerPaymentId,
        checkout.checkoutUrl,
        nextCheck(schedule, session.createdAt, clock()) ?? null,
      ],
    );
    return true;
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw new HubError('provider_unavailable', error.message);
    if (!(error instanceof ProviderRefused)) throw error;
    await pool.query(
      `update charge_session set status = 'failed', status_reason = $2, status_changed_at = $3
       where id = $1 and checkout_url is null`,
      [session.id, error.message, clock()],
    );
    throw new HubError('provider_refused', error.message);
  }
}

export async function hasCheckout(pool: Pool, id: string): Promise<boolean> {
  const { rows } = await pool.query('select checkout_url from charge_session where id = $1', [id]);
  return rows[0]?.checkout_url !== null;
}
