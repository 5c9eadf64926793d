// Creates charge sessions for payments that the hub did not start: sales of a price in a provider's catalog.
import { newUuid } from '../../ids.ts';
import type { Resolution } from '../callbacks/find-session-of-callback.ts';
import type { ReceivedCallback } from '../callbacks/journaled-callbacks.ts';
import type { Quote, Sales } from '../order-interface.ts';
import type { CatalogSale, VerificationStep } from '../providers/driver.ts';
import { driverOf, SLOT_FIELD } from '../providers/registry.ts';
import { recordSteps, SETTLEMENT } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { ProviderConcurrency, Providers } from '../slots/provider-connections.ts';
import { nextCheck, type SweepSchedule } from '../verification/sweep-schedule.ts';
import { readSessionSlot, type SessionSlot } from './find-slot.ts';
import { insertSession, merchantTransactionId } from './insert-session.ts';
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
  const { pool, providers, concurrency, sales, findSession } = options;
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
    if (quote === undefined) return unresolved(`no offer names the price ${price}`);
    const id = await insert(options, { slot, name, providerPaymentId, sale, quote });
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

type NewSale = {
  readonly slot: SessionSlot;
  /** The name of the slot. */
  readonly name: string;
  readonly providerPaymentId: string;
  readonly sale: CatalogSale;
  readonly quote: Quote;
};

/** Resolves with the id, or with undefined if another callback of the payment created the session first. */
function insert(
  { pool, clock, schedule }: CreateFromSaleOptions,
  { slot, name, providerPaymentId, sale, quote }: NewSale,
): Promise<string | undefined> {
  const id = newUuid();
  const now = clock();
  const { amount, orderReference, customer } = sale;
  const statement = {
    name: 'insert_session_of_sale',
    // charge_session_provider_payment_id_key. The first check is set now: the hub may die before the
    // verification.
    text: `insert into charge_session (id, slot_id, status, status_verified, status_reason, status_changed_at,
             amount_minor, currency, order_reference, customer, metadata, merchant_transaction_id,
             provider_payment_id, created_at, checks, next_check_at, has_purchase)
           values ($1, $2, 'pending', false, 'bought at the provider', $3, $4, $5, $6, $7, '{}', $8, $9, $3,
             0, $10, true)
           on conflict (provider_payment_id, slot_id) where provider_payment_id is not null do nothing`,
    values: [
      id,
      slot.id,
      now,
      amount.minor,
      amount.currency,
      orderReference,
      JSON.stringify(customer),
      merchantTransactionId(id),
      providerPaymentId,
      nextCheck(schedule, now, now) ?? null,
    ],
  };
  const session = { id, slot: name, amount, quote, orderReference };
  return insertSession(pool, statement, session, { actor: SETTLEMENT, now });
}
