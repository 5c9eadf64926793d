// Makes an event of each type by the calls that operators, machines, customers and providers make.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import type { EventType } from '../../../lib/presentation/event-types.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type Payments,
  pay,
  payQuietly,
  SLOTS,
} from '../../support/hub/payment.ts';
import { blockOrder, buyAndPay, createOffer, reversePayment, salesOf } from '../../support/hub/sales.ts';
import { activate, deactivate } from '../../support/network/rest.ts';
import { addEndpoint, type EventClient } from './event-scene.ts';

const DAY_MS = 86_400_000;

export type Scene = {
  readonly payments: Payments;
  readonly events: EventClient;
  /** An endpoint that receives all events. */
  readonly endpointId: string;
  /** The URL of another one. */
  readonly url: string;
  readonly clock: { readonly now: () => Date; aheadMs: number };
  /** Resolves when the endpoint has received an event of a type. */
  readonly received: (type: EventType) => Promise<void>;
};

/** Waits for most events before the next change, so that they show each state. Leaves the clock days ahead. */
export async function makeEveryEvent(scene: Scene): Promise<void> {
  const { hub } = scene.payments;
  const app = await createApp(hub.admin);
  await changeLicense(scene, app);
  await importLicense(hub, app);
  await changeCustomer(scene);
  await settleSessions(scene);
  await refundSession(scene);
  await sellOffers(scene);
  await disableAndTest(scene);
  await letTimePass(scene, app);
}

async function changeLicense({ payments: { hub }, received }: Scene, app: string): Promise<void> {
  const { admin, gatewayUrl, transport } = hub;
  const customers = createClient(CustomerService, transport);
  const { customer: heir } = await customers.createCustomer({ name: 'Grace Hopper' });
  const { licenseId, licenseKey } = await issueLicense(admin, {
    app,
    customer: 'Ada Lovelace',
    customerEmail: 'ada@example.com',
    limits: { exports: 500n },
    features: ['raw'],
    metadata: { order: 'ORD-1042' },
    validFor: { years: 1 },
    graceDays: 14,
    leaseDays: 30,
  });
  await received('license.issued');
  await activate(gatewayUrl, licenseKey, 'machine', { machineLabel: 'Studio', appVersion: '4.2.0' });
  await received('seat.activated');
  await deactivate(gatewayUrl, licenseKey, 'machine');
  await admin.updateLicense({ licenseId, addFeatures: ['layers'] });
  await received('license.updated');
  await admin.renewLicense({ licenseId, extension: { case: 'by', value: { years: 1 } } });
  await received('license.renewed');
  await admin.suspendLicense({ licenseId, reason: 'invoice overdue' });
  await received('license.suspended');
  await admin.resumeLicense({ licenseId });
  await received('license.resumed');
  await admin.rekeyLicense({ licenseId });
  await received('license.rekeyed');
  await admin.transferLicense({ licenseId, customerId: heir?.customerId ?? '' });
  await received('license.transferred');
  await admin.revokeLicense({ licenseId, reason: 'refunded' });
  await received('license.revoked');
  await admin.reinstateLicense({ licenseId });
  await received('license.reinstated');
}

async function importLicense({ admin }: TestHub, app: string): Promise<void> {
  const messages = async function* () {
    yield { app };
    yield { licenses: [{ licenseKey: 'C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3', seatLimit: 3 }] };
  };
  expect(await admin.importLicenses(messages())).to.include({ imported: 1 });
}

async function changeCustomer({ payments: { hub }, received }: Scene): Promise<void> {
  const customers = createClient(CustomerService, hub.transport);
  const details = { email: 'alan@example.com', externalRef: 'shop-7781', metadata: { plan: 'team' } };
  const { customer } = await customers.createCustomer({ name: 'Alan Turing', ...details });
  const customerId = customer?.customerId ?? '';
  await customers.updateCustomer({ customerId, name: 'A. M. Turing', updateMask: { paths: ['name'] } });
  await received('customer.updated');
  await customers.eraseCustomer({ customerId });
}

async function settleSessions({ payments, received }: Scene): Promise<void> {
  const { hub, sessions, simulator } = payments;
  const paid = await createSession(payments, 'gateway_one');
  await pay(payments, paid);
  await received('session.succeeded');
  simulator.reverse(paid.providerPaymentId);
  await sessions.recheckChargeSession({ sessionId: paid.sessionId });
  const left = await createSession(payments, 'gateway_two');
  await callBack(hub.gatewayUrl, 'gateway_two', callbackFields(left, 'cancelled'));

  // The provider creates no checkout, and then one for a repeated call.
  const request = {
    slot: SLOTS.gateway_one,
    amount: { minorUnits: 4_900n, currency: 'BDT' },
    orderReference: 'ORD-1042',
    customer: { name: 'Ada Lovelace', email: 'ada@example.com' },
    idempotencyKey: 'ORD-1042',
  };
  simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.initiate' });
  await sessions.createChargeSession(request).catch(() => {});
  const { sessions: found } = await payments.sessions.listChargeSessions({ pageSize: 1 });
  await sessions.recheckChargeSession({ sessionId: found[0]?.sessionId ?? '' });
  await received('session.failed');
  await sessions.createChargeSession(request);
}

async function refundSession({ payments, received }: Scene): Promise<void> {
  const session = await createSession(payments, 'gateway_two');
  await pay(payments, session);
  const refunds = createClient(RefundService, payments.hub.transport);
  const amount = { minorUnits: 1_000n, currency: 'BDT' };
  const request = { sessionId: session.sessionId, amount, reason: 'returned within 14 days' };
  payments.simulator.faults.add({ kind: 'refund_slow', delayMs: 600_000 });
  await refunds.createRefund(request);
  await received('refund.created');
  payments.simulator.faults.add({ kind: 'refund_refused' });
  await refunds.createRefund(request);
  await received('refund.failed');
  await refunds.createRefund(request);
  await received('refund.succeeded');
}

async function sellOffers({ payments, received }: Scene): Promise<void> {
  const sales = await salesOf(payments);
  const { session } = await buyAndPay(sales, await createOffer(sales, 'pro'));
  await received('order.fulfilled');
  await reversePayment(sales, session);
  await blockOrder(sales);
}

async function disableAndTest({ events, endpointId, url }: Scene): Promise<void> {
  await events.testEndpoint({ endpointId });
  const other = await addEndpoint(events, url, { events: ['license.issued'] });
  await events.disableEndpoint({ endpointId: other.endpointId, reason: 'replaced' });
}

/** A callback waits for more than a day; a license expires, and another one will soon. */
async function letTimePass({ payments, clock }: Scene, app: string): Promise<void> {
  const { hub, sessions, simulator } = payments;
  const session = await createSession(payments, 'gateway_one');
  const proof = payQuietly(payments, session);
  simulator.faults.add({ kind: 'error_500', ref: session.merchantTransactionId, times: 100 });
  await callBack(hub.gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
  for (const days of [5, 20]) {
    const expiresAt = timestampFromDate(new Date(clock.now().getTime() + days * DAY_MS));
    await hub.admin.issueLicenses({ app, seatLimit: 1, expiresAt });
  }
  clock.aheadMs += 10 * DAY_MS;
  await sessions.recheckChargeSession({ sessionId: session.sessionId }).catch(() => {});
  // A hub looks for expiries when it starts.
  await (await startHub({ clock: clock.now, beside: hub })).stop();
}
