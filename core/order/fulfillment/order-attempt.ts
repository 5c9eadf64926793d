// An attempt to grant a purchase: its result, and the events and audit entries of the result.
import type { Change } from '../../audit/record.ts';
import type { NewEvent } from '../../event/outbox.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { Fulfillment } from '../../payment/order-interface.ts';
import type { OrderLicense } from '../orders/order-licenses.ts';
import type { PaidPurchase } from './read-paid-purchases.ts';

export type OrderAttempt = {
  readonly purchase: PaidPurchase;
  /** UUID; that of the earlier attempt, if there was one. */
  readonly orderId: string;
  /** Empty if the order is blocked. */
  readonly licenses: readonly OrderLicense[];
  /** Why it is blocked, as a sentence; undefined if it is fulfilled. */
  readonly blocked?: string;
  /** Whether the order had its licenses before a reversal of its payment. */
  readonly isAgain?: boolean;
  /** What such an order does not get again, as clauses. */
  readonly notes?: readonly string[];
};

export function orderOf(purchase: PaidPurchase): Pick<OrderAttempt, 'purchase' | 'orderId'> {
  return { purchase, orderId: purchase.order?.id ?? newUuid() };
}

/** What the settlement records about the attempts. */
export function toFulfillment(attempts: readonly OrderAttempt[]): Fulfillment {
  return { events: attempts.flatMap(eventsOf), changes: attempts.flatMap(changeOf) };
}

/** A renewal or more seats has recorded the event of its license already. */
function eventsOf({ purchase, orderId, licenses, blocked, isAgain = false }: OrderAttempt): NewEvent[] {
  const { app, slotId } = purchase;
  const order = { objectId: orderId, appId: app.id, slotId };
  if (blocked !== undefined) return isNews(purchase, blocked) ? [{ type: 'order.blocked', ...order }] : [];
  const issued = isAgain ? [] : licenses.filter((license) => license.issued);
  return [
    ...issued.map(
      ({ licenseId }) => ({ type: 'license.issued', objectId: licenseId, appId: app.id }) as const,
    ),
    { type: 'order.fulfilled', ...order },
  ];
}

function changeOf({ purchase, orderId, licenses, blocked }: OrderAttempt): Change[] {
  const { order, offer, quantity, sessionId } = purchase;
  if (blocked !== undefined && !isNews(purchase, blocked)) return [];
  return [
    {
      action: blocked === undefined ? 'order.fulfill' : 'order.block',
      subject: formatId('ord', orderId),
      before: order && { state: order.state, reason: order.reason },
      after:
        blocked === undefined
          ? { state: 'fulfilled', licenses: licenses.map(({ licenseId }) => formatId('lic', licenseId)) }
          : { state: 'blocked', reason: blocked },
      detail: { session: formatId('chs', sessionId), offer, quantity },
    },
  ];
}

/** Whether the order was not blocked for this reason before. */
function isNews({ order }: PaidPurchase, blocked: string): boolean {
  return order?.reason !== blocked;
}
