// A hub with ten days of business behind it, as an operator finds one: real payments at the simulated providers, licenses
// in use, and some trouble.

import { setTimeout } from 'node:timers/promises';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { seedDemo } from '../../cli/demo/seed-demo.ts';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { EventService } from '../../gen/hub/event/v1/event_service_pb.ts';
import type { ChargeSession } from '../../gen/hub/payment/v1/payment_pb.ts';
import { issueLicense } from '../support/hub/license.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type GatewayName,
  journal,
  type Payments,
  SLOTS,
  startPayments,
  untilStatus,
} from '../support/hub/payment.ts';
import { activate, deactivate } from '../support/network/rest.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/network/webhook-receiver.ts';
import { until } from '../support/until.ts';

const DAY_MS = 86_400_000;

/** How long ago the hub took up its business. */
const DAYS = 10;

export type Fixture = {
  readonly payments: Payments;
  readonly tokens: { readonly operator: string; readonly viewer: string; readonly ofSlot: string };
  readonly sessions: Readonly<Record<'paid' | 'reversed' | 'dead' | 'waiting', ChargeSession>>;
  readonly license: {
    readonly licenseId: string;
    readonly licenseKey: string;
    readonly keyHint: string;
    readonly customerId: string;
  };
  /** An event that an endpoint refused, and a later one that it accepted. */
  readonly events: Readonly<Record<'endpointId' | 'refusedId' | 'acceptedId', string>>;
  /** The provider answers again what it did not. */
  mend(): void;
  stop(): Promise<void>;
};

export async function startFixture(): Promise<Fixture> {
  let behindMs = (DAYS - 1) * DAY_MS;
  const payments = await startPayments({
    clock: () => new Date(Date.now() - behindMs),
    settings: { eventAllowNetworks: ['127.0.0.0/8'] },
  });
  const receiver = await startWebhookReceiver();
  const { simulator } = payments;
  const isAway = (session: ChargeSession): void =>
    simulator.faults.add({ kind: 'error_500', ref: session.merchantTransactionId, times: 1_000 });

  await payments.admin.addFeeRule({ rule: { name: 'processing', basisPoints: 150 } });
  await payments.admin.addFeeRule({
    rule: { name: 'wallet', gateway: 'gateway_two', currency: 'BDT', fixedMinorUnits: 200n },
  });
  let paid: ChargeSession[] = [];
  let reversed: ChargeSession | undefined;
  let dead: ChargeSession | undefined;
  for (let day = 0; day < DAYS; day++) {
    behindMs = (DAYS - 1 - day) * DAY_MS;
    const orders = Array.from({ length: 1 + (day % 3) }, (_, index) => {
      const minorUnits = BigInt(120_000 + ((day * 7 + index * 5) % 11) * 95_050);
      const gateway = index === 1 ? 'gateway_two' : 'gateway_one';
      return charge(payments, gateway, minorUnits, 'BDT', `ORD-${1_000 + day * 10 + index}`);
    });
    if (day % 3 === 1)
      orders.push(charge(payments, 'gateway_one', BigInt(9_800 + day * 1_310), 'JPY', `JP-${day}`));
    paid = await Promise.all(orders.map(async (order) => payNow(payments, await order)));
    if (day === 5) {
      reversed = given(paid[0]);
      simulator.reverse(reversed.providerPaymentId);
      await payments.sessions.recheckChargeSession({ sessionId: reversed.sessionId });
    }
    if (day === DAYS - 2) {
      dead = await charge(payments, 'gateway_one', 310_000n, 'BDT', 'ORD-2001');
      isAway(dead);
      simulator.pay(dead.providerPaymentId);
      await untilTried(payments, dead);
    }
  }
  const deadSession = given(dead);
  await until(
    async () => (await journal(payments, deadSession))[0]?.state === 'dead',
    'the callback that nobody could deal with is given up',
  );

  await makeTrouble(payments);
  const waiting = await charge(payments, 'gateway_one', 450_000n, 'BDT', 'ORD-2002');
  isAway(waiting);
  simulator.pay(waiting.providerPaymentId);
  await untilTried(payments, waiting);
  await simulator.idle();

  const license = await sellLicenses(payments);
  return {
    payments,
    tokens: await makeTokens(payments),
    sessions: { paid: given(paid[0]), reversed: given(reversed), dead: deadSession, waiting },
    license,
    events: await deliverEvents(payments, receiver, license.licenseId),
    mend: () => simulator.faults.clear(),
    async stop() {
      await payments.stop();
      await receiver.close();
    },
  };
}

async function charge(
  { sessions }: Payments,
  gateway: GatewayName,
  minorUnits: bigint,
  currency: string,
  orderReference: string,
): Promise<ChargeSession> {
  const { session } = await sessions.createChargeSession({
    slot: SLOTS[gateway],
    amount: { minorUnits, currency },
    orderReference,
    customer: { name: 'Ada Lovelace', email: 'ada@example.com' },
    metadata: { cart: '7f3a' },
  });
  return given(session);
}

async function payNow(payments: Payments, session: ChargeSession): Promise<ChargeSession> {
  payments.simulator.pay(session.providerPaymentId);
  await untilStatus(payments, session, 'success');
  return session;
}

async function untilTried(payments: Payments, session: ChargeSession): Promise<void> {
  const attempts = async () => (await journal(payments, session))[0]?.attempts ?? 0;
  await until(async () => (await attempts()) > 0, 'the hub has tried to process the callback');
}

/** A customer who gives up, one whose card is refused, a forger, and a provider that says something else than was asked. */
async function makeTrouble(payments: Payments): Promise<void> {
  const { hub, simulator } = payments;
  const cancelled = await charge(payments, 'gateway_two', 99_000n, 'BDT', '<b>ORD</b>-1901');
  simulator.cancel(cancelled.providerPaymentId);
  const failed = await charge(payments, 'gateway_one', 75_000n, 'BDT', 'ORD-1902');
  simulator.fail(failed.providerPaymentId);
  await simulator.idle();
  const forged = await createSession(payments, 'gateway_one');
  await callBack(hub.gatewayUrl, 'gateway_one', callbackFields(forged, 'failed'));
  const nobodys = { ...callbackFields(forged, 'paid'), session_id: 'chs_unknown', tran_id: 'T-unknown' };
  await callBack(hub.gatewayUrl, 'gateway_one', nobodys);
  await callBack(hub.gatewayUrl, 'gateway_one', { ...callbackFields(forged, 'paid'), status: 'EXPIRED' });
  const other = await charge(payments, 'gateway_one', 10_000n, 'BDT', 'ORD-1903');
  simulator.faults.add({ kind: 'wrong_amount', ref: other.merchantTransactionId, times: 1_000 });
  simulator.pay(other.providerPaymentId);
  await simulator.idle();
}

async function sellLicenses({ hub }: Payments): Promise<Fixture['license']> {
  const { admin, gatewayUrl } = hub;
  await seedDemo(admin);
  for (const [customer, seatLimit] of [
    ['Analytical Engines Ltd', 25],
    ['Difference & Sons', 1],
    ['Menabrea, Torino', -1],
  ] as const) {
    await issueLicense(admin, { app: 'demo', customer, seatLimit, limitProfile: 'pro' });
  }
  const expired = new Date(Date.now() + 3_000);
  await issueLicense(admin, { app: 'demo', customer: 'Last year’s', expiresAt: timestampFromDate(expired) });
  const revoked = await issueLicense(admin, { app: 'demo', customer: 'Refunded GmbH' });
  await admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'Refunded' });
  const license = await issueLicense(admin, {
    app: 'demo',
    customer: 'Ada Lovelace',
    limitProfile: 'pro',
    limits: { exports: -1n },
    leaseDays: 30,
  });
  for (const [machine, machineLabel] of [
    ['m-1', 'Study'],
    ['m-2', 'Ada’s laptop'],
    ['m-3', 'Old laptop'],
  ] as const) {
    await activate(gatewayUrl, license.licenseKey, machine, { machineLabel, appVersion: '2.14.0' });
  }
  await deactivate(gatewayUrl, license.licenseKey, 'm-3');
  const { customerId = '' } = (await admin.getLicense(license)).license ?? {};
  await setTimeout(expired.getTime() - Date.now());
  return { ...license, keyHint: license.licenseKey.slice(-5), customerId };
}

/** An endpoint refuses one event, and accepts the next, so that it does not fail any more. */
async function deliverEvents(
  { hub }: Payments,
  receiver: WebhookReceiver,
  licenseId: string,
): Promise<Fixture['events']> {
  const events = createClient(EventService, hub.transport);
  const { endpoint } = await events.createEndpoint({
    settings: { url: receiver.url, events: ['license.*'], description: 'The shop' },
  });
  const endpointId = given(endpoint).endpointId;
  const idOf = async (type: string): Promise<string> => {
    const isTried = async () => {
      const { deliveries } = await events.listDeliveries({ endpointId });
      return deliveries.some((delivery) => delivery.type === type && delivery.attempts > 0);
    };
    await until(isTried, `the hub has tried to deliver ${type}`);
    const found = await events.listEvents({ object: licenseId, types: [type] });
    return given(found.events[0]).eventId;
  };
  receiver.answer = (_, response) => {
    response.writeHead(503, { 'retry-after': '3600' }).end('out of ink');
    return undefined;
  };
  await hub.admin.suspendLicense({ licenseId, reason: 'Invoice 12 is open' });
  const refusedId = await idOf('license.suspended');
  receiver.answer = () => 204;
  await hub.admin.resumeLicense({ licenseId });
  return { endpointId, refusedId, acceptedId: await idOf('license.resumed') };
}

async function makeTokens({ hub }: Payments): Promise<Fixture['tokens']> {
  const tokens = createClient(TokenService, hub.transport);
  const make = async (name: string, role: Role, slots: string[] = []): Promise<string> =>
    (await tokens.createToken({ name, role, slots })).token;
  return {
    operator: await make('night-shift', Role.OPERATOR),
    viewer: await make('wall-screen', Role.VIEWER),
    ofSlot: await make('wallet-team', Role.VIEWER, [SLOTS.gateway_two]),
  };
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the fixture is not as it was made');
  return value;
}
