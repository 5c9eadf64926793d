// Sales for tests: payments with an app, offers of each kind, and sessions that buy them.

import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Client, createClient } from '@connectrpc/connect';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import type { OfferTermsSchema, Order } from '../../../gen/hub/order/v1/order_pb.ts';
import { OrderService } from '../../../gen/hub/order/v1/order_service_pb.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { CreateChargeSessionRequestSchema } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { activate } from '../network/rest.ts';
import { createApp } from './license.ts';
import {
  type GatewayName,
  type Payments,
  type PaymentsOptions,
  pay,
  SLOTS,
  startPayments,
} from './payment.ts';

export type Sales = {
  readonly payments: Payments;
  /** Slug of the app. */
  readonly app: string;
  readonly offers: Client<typeof OfferService>;
  readonly orders: Client<typeof OrderService>;
  stop(): Promise<void>;
};

type Terms = Exclude<MessageInitShape<typeof OfferTermsSchema>, { $typeName: string }>;
type Buy = Exclude<MessageInitShape<typeof CreateChargeSessionRequestSchema>, { $typeName: string }>;

export async function startSales(options: PaymentsOptions = {}): Promise<Sales> {
  const payments = await startPayments(options);
  return { ...(await salesOf(payments)), stop: () => payments.stop() };
}

/** Adds an app to payments. */
export async function salesOf(payments: Payments): Promise<Omit<Sales, 'stop'>> {
  return {
    payments,
    app: await createApp(payments.hub.admin),
    offers: createClient(OfferService, payments.hub.transport),
    orders: createClient(OrderService, payments.hub.transport),
  };
}

/** Creates an offer of new licenses with 2 seats, for 100.00 BDT or 9.00 USD. */
export async function createOffer(
  { offers, app }: Pick<Sales, 'offers' | 'app'>,
  slug: string,
  terms: Terms = {},
): Promise<string> {
  await offers.createOffer({
    app,
    slug,
    terms: {
      name: 'Pro',
      prices: [
        { minorUnits: 10_000n, currency: 'BDT' },
        { minorUnits: 900n, currency: 'USD' },
      ],
      grant: { case: 'license', value: { seatLimit: 2, features: ['export'], validFor: { years: 1 } } },
      ...terms,
    },
  });
  return `${app}/${slug}`;
}

export type Bought = { readonly session: ChargeSession; readonly claimToken: string };

/** Creates a session that buys an offer in BDT. */
export async function buy(
  { payments }: Pick<Sales, 'payments'>,
  offer: string,
  { gateway = 'gateway_one', ...request }: Buy & { readonly gateway?: GatewayName } = {},
): Promise<Bought> {
  const { session, claimToken } = await payments.sessions.createChargeSession({
    slot: SLOTS[gateway],
    offer,
    currency: 'BDT',
    customer: { name: 'Ada Lovelace', email: 'ada@example.com' },
    ...request,
  });
  if (session === undefined) throw new Error('no session was created');
  return { session, claimToken };
}

/** Creates a session, pays it, and returns its order. */
export async function buyAndPay(
  sales: Omit<Sales, 'stop'>,
  offer: string,
  request: Parameters<typeof buy>[2] = {},
): Promise<Bought & { readonly order: Order }> {
  const bought = await buy(sales, offer, request);
  await pay(sales.payments, bought.session);
  return { ...bought, order: await orderOf(sales, bought.session.sessionId) };
}

/** Pays for the renewal of a license that was revoked meanwhile. */
export async function blockOrder(
  sales: Omit<Sales, 'stop'>,
): Promise<{ readonly orderId: string; readonly licenseId: string }> {
  const { hub } = sales.payments;
  const { licenses } = await hub.admin.issueLicenses({ app: sales.app, validFor: { days: 10 } });
  const licenseId = licenses[0]?.license?.licenseId ?? '';
  await activate(hub.gatewayUrl, licenses[0]?.licenseKey ?? '', 'machine');
  const renewal = { case: 'renewal', value: { by: { years: 1 } } } as const;
  const offer = await createOffer(sales, `renewal-${licenseId.slice(-8)}`, {
    name: 'Renewal',
    grant: renewal,
  });
  const { session } = await buy(sales, offer, { licenseId });
  await hub.admin.revokeLicense({ licenseId, reason: 'refunded' });
  await pay(sales.payments, session);
  const { orderId } = await orderOf(sales, session.sessionId);
  return { orderId, licenseId };
}

export async function orderOf({ orders }: Pick<Sales, 'orders'>, order: string): Promise<Order> {
  const { order: found } = await orders.getOrder({ order });
  if (found === undefined) throw new Error('the response has no order');
  return found;
}

/** The provider reverses the payment of a session, and the hub finds out. Returns the order. */
export async function reversePayment(
  sales: Pick<Sales, 'payments' | 'orders'>,
  { sessionId, providerPaymentId }: ChargeSession,
): Promise<Order> {
  sales.payments.simulator.reverse(providerPaymentId);
  await sales.payments.sessions.recheckChargeSession({ sessionId });
  return orderOf(sales, sessionId);
}

/** The provider restores a reversed payment, and the hub finds out. Returns the order. */
export async function restorePayment(
  sales: Pick<Sales, 'payments' | 'orders'>,
  { sessionId, providerPaymentId }: ChargeSession,
): Promise<Order> {
  sales.payments.simulator.standAgain(providerPaymentId);
  await sales.payments.sessions.recheckChargeSession({ sessionId });
  return orderOf(sales, sessionId);
}
