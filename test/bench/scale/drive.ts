// Makes a hub run its frequent operations and its large queries, so that their statements can be observed.
import { randomUUID } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { formatId, newUuid } from '../../../core/ids.ts';
import { ActorKind, AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { CallbackState, type ChargeSession, ChargeStatus } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { fetchMetrics } from '../../support/hub/metrics.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  type Payments,
  pay,
  payQuietly,
  SLOTS,
  untilStatus,
} from '../../support/hub/payment.ts';
import { activate, checkStatus, deactivate } from '../../support/network/rest.ts';
import { until } from '../../support/until.ts';
import { driveCustomers } from './drive-customers.ts';
import { driveEvents } from './drive-events.ts';
import { driveLicenseLists } from './drive-license-lists.ts';
import { driveOrders } from './drive-orders.ts';
import { driveRefunds } from './drive-refunds.ts';
import {
  FLEET,
  fingerprintAt,
  keyAt,
  licenseAt,
  type Population,
  sessionAt,
  shopTokenOf,
  siteMachineAt,
} from './population.ts';
import { takeFirst } from './take-first.ts';

/** The time limit until the sweep has checked all due sessions. */
const SWEEP_MS = 60_000;

/** Ids that no session has. */
const NOBODY = { sessionId: 'chs_unknown', merchantTransactionId: 'unknown', providerPaymentId: 'unknown' };

/** Requests that run at once, so that they share statements. */
const AT_ONCE = 16;

/** The maximum number of callbacks that the hub stores per session. */
export const SESSION_CALLBACKS = 10;

/** @param times how often each operation runs, at least 4 */
export async function drive(payments: Payments, population: Population, times: number): Promise<void> {
  await driveLicenses(payments, population, times);
  await drivePayments(payments, times);
  await driveReviews(payments, times);
  await driveReversals(payments, times);
  await driveRefunds(payments, Math.ceil(times / 2)); // at two gateways
  await driveAdministration(payments, population, times);
  await driveCustomers(payments.hub, population, times);
  await driveLicenseLists(payments.hub, population);
  await driveLists(payments, population);
  await driveEvents(payments, population, times);
  await driveOrders(payments, times);
  await fetchMetrics(payments.hub);
}

async function driveLicenses({ hub }: Payments, population: Population, times: number): Promise<void> {
  const { gatewayUrl } = hub;
  const { licenses } = population;
  const ask = async (index: number, seated: string, another: string): Promise<void> => {
    const key = keyAt(index);
    const licenseId = formatId('lic', licenseAt(population, index).id);
    await checkStatus(gatewayUrl, licenseId, seated);
    await activate(gatewayUrl, key, seated);
    await activate(gatewayUrl, key, another);
    await activate(gatewayUrl, key, another, { appVersion: '2.0' });
    await deactivate(gatewayUrl, key, another);
    await deactivate(gatewayUrl, key, another);
    await checkStatus(gatewayUrl, licenseId);
  };
  const one = async (turn: number): Promise<void> => {
    const index = Math.floor((licenses * (turn + 0.5)) / AT_ONCE);
    await ask(index, fingerprintAt(index), `another-${index}`);
    await ask(licenses, siteMachineAt(turn * 1_000), `another-${turn}`);
    await ask(FLEET.license, fingerprintAt(FLEET.license), `another-${turn}`);
    for (const path of ['public-key', 'jwks.json', 'limits/free'])
      await fetch(`${gatewayUrl}/v1/apps/scale/${path}`);
  };
  for (let turn = 0; turn < times; turn++) await one(turn % AT_ONCE);
  await Promise.all(Array.from({ length: AT_ONCE }, (_, turn) => one(turn)));
}

async function drivePayments(payments: Payments, times: number): Promise<void> {
  const { gatewayUrl } = payments.hub;
  const overdue: ChargeSession[] = [];
  for (let turn = 0; turn < times; turn++) {
    for (const gateway of GATEWAYS) {
      const session = await createSession(payments, gateway);
      await callBack(gatewayUrl, gateway, callbackFields(session, 'failed'));
      await pay(payments, session);
      await untilStatus(payments, session, 'success');
      // A second callback without the session's id, so that the hub finds it by transaction or payment.
      const { session_id: _, ...reference } = callbackFields(session, 'paid');
      await callBack(gatewayUrl, gateway, reference);
      await payments.sessions.recheckChargeSession({ sessionId: session.sessionId });
      await inspect(payments, session);
      const { sessionId } = session;
      await takeFirst((options) => payments.sessions.watchChargeSession({ sessionId }, options));

      const left = await createSession(payments, gateway);
      await callBack(gatewayUrl, gateway, callbackFields(left, 'cancelled'));
      const unknown = { ...callbackFields(left, 'paid'), session_id: 'chs_unknown' };
      await callBack(gatewayUrl, gateway, unknown);
      await callBack(gatewayUrl, gateway, callbackFields({ ...left, ...NOBODY }, 'paid'));
      await callBack(gatewayUrl, gateway, { ...callbackFields(left, 'paid'), status: 'EXPIRED' });
      // A paid session without a callback: the sweep detects the payment.
      payQuietly(payments, left);
      overdue.push(left);
    }
  }
  const many = await Promise.all(
    Array.from({ length: AT_ONCE / 2 }, () => createSession(payments, 'gateway_one')),
  );
  await Promise.all(many.map((session) => pay(payments, session)));
  for (const session of many) await untilStatus(payments, session, 'success');
  // The provider is down when a callback arrives, so the callback waits for the next check.
  const waiting = await createSession(payments, 'gateway_one');
  const proof = payQuietly(payments, waiting);
  payments.simulator.faults.add({ kind: 'error_500', ref: waiting.merchantTransactionId, times: 3 });
  await callBack(gatewayUrl, 'gateway_one', callbackFields(waiting, 'paid', proof));
  overdue.push(waiting);
  // More callbacks than the hub stores per session.
  const flooded = await createSession(payments, 'gateway_one');
  for (let turn = 0; turn < SESSION_CALLBACKS + times; turn++) {
    await callBack(gatewayUrl, 'gateway_one', callbackFields(flooded, 'cancelled'));
  }
  for (const session of overdue) await untilStatus(payments, session, 'success', SWEEP_MS);
  // Two payments of one session: the sweep detects the second one.
  await Promise.all(
    GATEWAYS.map(async (gateway) => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      payments.simulator.payAgain(session.providerPaymentId);
      const isFound = async () => (await inspect(payments, session)).duplicatePayments.length > 0;
      await until(isFound, 'the duplicate payment is found', SWEEP_MS);
    }),
  );
  await payments.sessions.createChargeSession({
    slot: SLOTS.gateway_one,
    amount: { minorUnits: 100n, currency: 'BDT' },
    orderReference: 'ORD-KEY',
    idempotencyKey: randomUUID(),
  });
}

/** Holds payments for review, and releases all but the last few. */
async function driveReviews(payments: Payments, times: number): Promise<void> {
  const { admin, simulator } = payments;
  // This setting stays: the sweep settles held payments after the slot stops holding them.
  await admin.updateSlot({ slot: SLOTS.gateway_one, options: { riskyPayments: 'hold' } });
  for (let turn = 0; turn < times; turn++) {
    const session = await createSession(payments, 'gateway_one');
    const ref = session.providerPaymentId;
    simulator.faults.add({ kind: 'risky', operation: 'gateway_one.validate', ref });
    simulator.faults.add({ kind: 'risky', operation: 'gateway_one.query', ref, times: MANY });
    await pay(payments, session);
    const isHeld = async () => (await inspect(payments, session)).session?.heldAt !== undefined;
    await until(isHeld, 'the payment is held', SWEEP_MS);
    if (turn >= times - LEFT_HELD) continue;
    await admin.releaseChargeSession({ sessionId: session.sessionId, reason: 'driven' });
    await untilStatus(payments, session, 'success');
  }
}
/** Enough for two pages. */
const LEFT_HELD = 3;
/** More than the number of checks the sweep makes of a session meanwhile. */
const MANY = 100;

/** Reverses payments, and reinstates them. */
async function driveReversals(payments: Payments, times: number): Promise<void> {
  const { sessions, simulator } = payments;
  for (let turn = 0; turn < times; turn++) {
    const session = await createSession(payments, turn % 2 === 0 ? 'gateway_one' : 'gateway_two');
    const { sessionId, providerPaymentId } = session;
    await pay(payments, session);
    await untilStatus(payments, session, 'success');
    simulator.reverse(providerPaymentId);
    await sessions.recheckChargeSession({ sessionId });
    simulator.standAgain(providerPaymentId);
    await sessions.recheckChargeSession({ sessionId });
    await untilStatus(payments, session, 'success');
  }
}

async function driveAdministration(
  { hub, admin }: Payments,
  population: Population,
  times: number,
): Promise<void> {
  for (let turn = 0; turn < times; turn++) {
    await hub.admin.getLicense({ licenseId: formatId('lic', licenseAt(population, FLEET.license).id) });
    // A license of another customer.
    const licenseId = formatId('lic', licenseAt(population, 3 * turn).id);
    await hub.admin.getLicense({ licenseId });
    await hub.admin.revokeLicense({ licenseId, reason: 'driven' });
    await hub.admin.reinstateLicense({ licenseId });
    await changeTerms(hub, licenseId);
    await hub.admin.issueLicenses({ app: 'scale', seatLimit: 1, count: 10 });
    const { seats } = await hub.admin.listSeats({ licenseId, includeReleased: true });
    await hub.admin.releaseSeat({ seatId: seats[0]?.seatId ?? '' });
  }
  const { callbacks } = await admin.listCallbacks({ state: CallbackState.MISMATCH, pageSize: times });
  for (const { callbackId } of callbacks) {
    await admin.getCallback({ callbackId });
    await admin.replayCallback({ callbackId });
  }
  const { duplicatePayments } = await admin.listDuplicatePayments({ slot: SLOTS.gateway_one, pageSize: 1 });
  for (const { duplicatePaymentId } of duplicatePayments)
    await admin.resolveDuplicatePayment({ duplicatePaymentId, resolution: 'driven' });
}

async function changeTerms({ admin }: Payments['hub'], licenseId: string): Promise<void> {
  const idempotencyKey = randomUUID();
  const expiresAt = { seconds: BigInt(Math.floor(Date.now() / 1_000)) + 86_400n, nanos: 0 };
  await admin.updateLicense({
    licenseId,
    updateMask: { paths: ['expires_at', 'limit_profile'] },
    limitProfile: 'pro',
    expiresAt,
    idempotencyKey,
  });
  await admin.renewLicense({ licenseId, extension: { case: 'by', value: { months: 1 } }, idempotencyKey });
  await admin.suspendLicense({ licenseId, reason: 'driven' });
  await admin.resumeLicense({ licenseId });
  const { license } = await admin.getLicense({ licenseId });
  await admin.transferLicense({ licenseId, customerId: license?.customerId ?? '' });
}

/** Reads the first page and the next one. */
async function twoPages(read: (pageToken: string) => Promise<{ nextPageToken: string }>): Promise<void> {
  const { nextPageToken } = await read('');
  if (nextPageToken !== '') await read(nextPageToken);
}

async function driveLists({ hub, admin, sessions }: Payments, population: Population): Promise<void> {
  const audit = createClient(AuditService, hub.transport);
  const { from, to } = population;
  const time = (share: number) => {
    const ms = from + share * (to - from);
    return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: 0 };
  };
  const [early, late] = [time(0.2), time(0.3)];
  const old = sessionAt(population, Math.floor(population.sessions / 3));
  for (const filter of [
    {},
    { slot: 'scale-one' },
    { orderReference: 'ORD-1' },
    { status: ChargeStatus.SUCCESS },
    { createdFrom: early, createdTo: late },
    { slot: 'scale-one', createdFrom: early, createdTo: late },
    { held: true, pageSize: LEFT_HELD - 1 },
    { held: true, slot: SLOTS.gateway_one, pageSize: LEFT_HELD - 1 },
    { held: true, slot: 'scale-one' },
    { held: true, createdFrom: early, createdTo: late },
  ]) {
    await twoPages((pageToken) => sessions.listChargeSessions({ ...filter, pageToken }));
  }
  for (const filter of [
    {},
    { state: CallbackState.DEAD },
    { sessionId: old.sessionId },
    { gateway: old.gateway },
  ]) {
    await twoPages((pageToken) => admin.listCallbacks({ ...filter, pageToken }));
  }
  for (const filter of [
    {},
    { slot: 'scale-one' },
    { includeResolved: true },
    { slot: 'scale-one', includeResolved: true },
  ]) {
    await twoPages((pageToken) => admin.listDuplicatePayments({ ...filter, pageToken }));
  }
  for (const filter of [
    {},
    { slot: 'scale-one' },
    { settledFrom: early, settledTo: late },
    { slot: 'scale-one', settledFrom: early, settledTo: late },
  ]) {
    await twoPages((pageToken) => admin.listUsageLogs({ ...filter, pageSize: 100, pageToken }));
  }
  for (const filter of [{}, { slot: 'scale-one' }]) {
    await admin.summarizeUsage({ ...filter, settledFrom: early, settledTo: time(0.201) });
  }
  for (const filter of [
    {},
    { subject: old.sessionId },
    { subject: formatId('lic', licenseAt(population, FLEET.license).id) },
    { actor: 'settlement' },
    { actor: 'nobody' },
    { actorKind: ActorKind.LOCAL },
    { actorKind: ActorKind.HUB },
    { actorTokenId: formatId('tok', newUuid()) },
    { actorTokenId: formatId('tok', shopTokenOf(population)) },
    { actor: 'settlement', actorKind: ActorKind.HUB },
    { action: 'charge_session.settle' },
    { since: early, until: late },
    { actor: 'shop', since: early, until: late },
  ]) {
    await twoPages((pageToken) => audit.listAuditEntries({ ...filter, pageToken }));
  }
  await takeFirst((options) => audit.exportAuditLog({}, options));
  await audit.verifyAuditLog({});
  const { sessionId } = old;
  await sessions.inspectChargeSession({ sessionId });
  await sessions.listVerifications({ sessionId });
  await sessions.listStatusChanges({ sessionId });
  await hub.admin.listApps({});
}
