// Creates charge sessions for payments that the hub did not start: sales of a price in a provider's catalog.
import type { Resolution } from '../callbacks/find-session-of-callback.ts';
import type { ReceivedCallback } from '../callbacks/journaled-callbacks.ts';
import type { Sales } from '../order-interface.ts';
import type { VerificationStep } from '../providers/driver.ts';
import { driverOf, SLOT_FIELD } from '../providers/registry.ts';
import { recordSteps, SETTLEMENT } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { ProviderConcurrency, Providers } from '../slots/provider-connections.ts';
import { nextCheck, type SweepSchedule } from '../verification/sweep-schedule.ts';
import { readSessionSlot } from './find-slot.ts';
import { insertSession } from './insert-session.ts';
import type { FindSession } from './look-up-sessions.ts';

export type CreateFromSaleOptions = Pick<PaymentDependencies, 'pool' | 'clock' | 'metrics'> & {
  readonly providers: Providers;
  readonly concurrency: Pick<ProviderConcurrency, 'run'>;
  readonly sales: Pick<Sales, 'quoteCatalog'>;
  readonly findSession: Pick<FindSession, 'byId' | 'byPayment'>;
  readonly schedule: SweepSchedule;
};

/**
 * Finds the session of a callback about a payment that the hub did not start. If an offer names the price
 * that was sold, it creates the session, which is then verified like any other. Undefined if the gateway has
 * no catalog.
 *
 * @throws ProviderUnavailable
 */
export type CreateFromSale = (
  callback: Pick<ReceivedCallback, 'gateway' | 'fields'>,
  providerPaymentId: string,
) => Promise<Resolution | undefined>;

export function createCreateFromSale(options: CreateFromSaleOptions): CreateFromSale {
  const { pool, clock, providers, concurrency, sales, findSession, schedule } = options;
  return async ({ gateway, fields }, providerPaymentId) => {
    const name = fields[SLOT_FIELD];
    if (name === undefined || driverOf(gateway).catalog === undefined) return undefined;
    const slot = await readSessionSlot(pool, name);
    const steps: VerificationStep[] = [];
    const sale = await concurrency.run(name, async () => {
      const { driver, access } = await providers.forSlot(slot.id, (step) => steps.push(step));
      return driver.catalog?.findSale(access, providerPaymentId);
    });
    if (sale === undefined)
      return unresolved('the hub did not start this payment, and it is not of one price');
    const { price, quantity, amount, customer } = sale;
    const buyer = { name: customer.name ?? '', email: customer.email ?? '' };
    const quote = await sales.quoteCatalog({ gateway, price, quantity, amount, buyer });
    if (quote === 'none') return unresolved(`no offer names the price ${price}`);
    if (quote === 'several') return unresolved(`several offers name the price ${price}`);
    const now = clock();
    const sold = {
      ...sale,
      quote,
      providerPaymentId,
      slot: name,
      slotId: slot.id,
      metadata: {},
      statusReason: 'bought at the provider',
      firstCheck: nextCheck(schedule, now, now),
    };
    const id = await insertSession(pool, sold, { actor: SETTLEMENT, now });
    const session =
      id === undefined ? await findSession.byPayment(gateway, providerPaymentId) : await findSession.byId(id);
    if (session === undefined) return unresolved('its payment id names several sessions');
    if (id !== undefined) {
      options.metrics.sessionCreated(name);
      await pool.query(recordSteps([{ sessionId: id, callbackIds: [], steps }]));
    }
    return { kind: 'session', session };
  };
}

function unresolved(reason: string): Resolution {
  return { kind: 'unresolved', reason };
}
