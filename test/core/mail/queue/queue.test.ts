// The queue of mails: retries, failures, erased customers, several hubs, and what is stored.

import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { systemClock } from '../../../../core/clock.ts';
import { parseId } from '../../../../core/ids.ts';
import { CustomerService } from '../../../../gen/hub/customer/v1/customer_service_pb.ts';
import { MailKind, MailState } from '../../../../gen/hub/mail/v1/mail_pb.ts';
import { OrderState } from '../../../../gen/hub/order/v1/order_pb.ts';
import { createCanaries, dumpOf } from '../../../support/hub/canaries.ts';
import { startHub } from '../../../support/hub/hub.ts';
import { pay } from '../../../support/hub/payment.ts';
import {
  buy,
  buyAndPay,
  createOffer,
  orderOf,
  restorePayment,
  reversePayment,
} from '../../../support/hub/sales.ts';
import type { ReceivedMail } from '../../../support/network/mail-server.ts';
import { activate } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import {
  isFailed,
  isSent,
  type MailScene,
  mailOf,
  startMailScene,
  untilMail,
  wasDeferred,
} from '../mail-scene.ts';

const MINUTE_MS = 60_000;

describe('the queue of mails', () => {
  let scene: MailScene;
  let aheadMs = 0;
  const log = new PassThrough();
  const logged = text(log);
  const clock = () => new Date(systemClock().getTime() + aheadMs);
  before(async () => {
    scene = await startMailScene({ clock, log });
  });
  after(async () => {
    await scene.stop();
    log.destroy();
  });

  it('tries again later with the same Message-ID, until the server accepts the mail', async () => {
    const { server } = scene;
    server.refuse('recipient', { code: 451, message: 'greylisted', times: 2 });
    const { order } = await buyAndPay(scene.sales, scene.pro);
    const waits = (attempts: number) =>
      untilMail(scene, order.orderId, (mail) => wasDeferred(mail) && mail.attempts === attempts, 'waits');
    const first = await waits(1);
    expect(first.problem).to.equal('the mail server does not accept the mail at the moment');
    expect(first.smtpResponse).to.equal('451 greylisted');
    const dueMs = Number(first.nextAttemptAt?.seconds) * 1000 - Number(first.lastAttemptAt?.seconds) * 1000;
    expect(dueMs).to.be.within(29_000, 38_000);
    aheadMs += MINUTE_MS;
    await waits(2);
    aheadMs += 5 * MINUTE_MS;
    const sent = await untilMail(scene, order.orderId, isSent, 'is sent');
    expect(sent).to.include({ attempts: 3, problem: '', messageId: first.messageId });
    expect(server.mails.at(-1)?.headers.get('message-id')).to.equal(`<${first.messageId}>`);
  });

  it('gives up after about a day', async () => {
    scene.server.refuse('recipient', { code: 451, message: 'greylisted', times: 10 });
    const { order } = await buyAndPay(scene.sales, scene.pro);
    const started = aheadMs;
    for (let attempts = 1; attempts < 10; attempts++) {
      await untilMail(scene, order.orderId, (mail) => mail.attempts === attempts, `had ${attempts} attempts`);
      const { nextAttemptAt } = await mailOf(scene, order.orderId);
      aheadMs = Number(nextAttemptAt?.seconds) * 1000 + 1000 - Date.now();
    }
    const failed = await untilMail(scene, order.orderId, isFailed, 'is failed');
    expect(failed.attempts).to.equal(10);
    expect((aheadMs - started) / 3_600_000).to.be.within(20, 28);
  });

  it('does not try a mail again that the server refuses, until somebody sends it again', async () => {
    const { server } = scene;
    server.refuse('content', { code: 554, message: 'rejected' });
    const { order } = await buyAndPay(scene.sales, scene.pro);
    const failed = await untilMail(scene, order.orderId, isFailed, 'is failed');
    expect(failed).to.include({ attempts: 1, smtpResponse: '554 rejected' });
    expect(failed.nextAttemptAt).to.equal(undefined);
    const { mail } = await scene.mails.resendMail({ mailId: failed.mailId });
    expect(mail).to.include({ state: MailState.QUEUED, attempts: 0, problem: '', smtpResponse: '' });
    const sent = await untilMail(scene, order.orderId, isSent, 'is sent');
    expect(sent.messageId).not.to.equal(failed.messageId);
  });

  it('sends a queued mail again at once, with the same Message-ID', async () => {
    scene.server.refuse('recipient', { code: 451, message: 'greylisted' });
    const { order } = await buyAndPay(scene.sales, scene.pro);
    const queued = await untilMail(scene, order.orderId, wasDeferred, 'waits');
    await scene.mails.resendMail({ mailId: queued.mailId });
    const sent = await untilMail(scene, order.orderId, isSent, 'is sent');
    expect(sent.messageId).to.equal(queued.messageId);
  });

  it('sends an erased customer nothing', async () => {
    scene.server.refuse('recipient', { code: 451, message: 'greylisted' });
    const { order } = await buyAndPay(scene.sales, scene.pro, {
      customer: { name: 'Grace', email: 'grace@example.com' },
    });
    const { mailId } = await untilMail(scene, order.orderId, wasDeferred, 'waits');
    const customers = createClient(CustomerService, scene.sales.payments.hub.transport);
    await customers.eraseCustomer({ customerId: order.customerId });
    aheadMs += MINUTE_MS;
    const failed = await untilMail(scene, order.orderId, isFailed, 'is failed');
    expect(failed.problem).to.equal('the customer has been erased');
    expect(scene.server.mails.filter(({ to }) => to.includes('grace@example.com'))).to.deep.equal([]);
    const refusal = await scene.mails.resendMail({ mailId }).catch((error: Error) => error.message);
    expect(refusal).to.contain('has been erased');
  });

  it('confirms renewals and more seats without a key', async () => {
    const { sales, server } = scene;
    const { admin, gatewayUrl } = sales.payments.hub;
    const renewal = await createOffer(sales, 'renewal', {
      grant: { case: 'renewal', value: { by: { years: 1 } } },
    });
    const seats = await createOffer(sales, 'seats', { grant: { case: 'seats', value: { seats: 5 } } });
    const issued = await admin.issueLicenses({ app: sales.app, seatLimit: 1, validFor: { years: 1 } });
    const [{ licenseKey, license } = { licenseKey: '', license: undefined }] = issued.licenses;
    const licenseId = license?.licenseId ?? '';
    await activate(gatewayUrl, licenseKey, 'machine');
    const renewed = await buyAndPay(sales, renewal, { licenseId });
    expect(await untilMail(scene, renewed.order.orderId, isSent, 'is sent')).to.include({
      kind: MailKind.RENEWAL,
    });
    const expiry = new Date(Number(renewed.order.licenses[0]?.expiresAfter?.seconds) * 1000);
    const confirmation = server.mails.at(-1);
    expect(confirmation?.text).to.contain(`valid until ${expiry.toISOString().slice(0, 10)}`);
    expect(confirmation?.text).not.to.contain(licenseKey);
    const more = await buyAndPay(sales, seats, { licenseId });
    expect(await untilMail(scene, more.order.orderId, isSent, 'is sent')).to.include({
      kind: MailKind.SEATS,
    });
    expect(server.mails.at(-1)?.text).to.contain('has 5 more seats');
  });

  it('mails a blocked order when a retry fulfills it', async () => {
    const { sales } = scene;
    const { admin, gatewayUrl } = sales.payments.hub;
    const issued = await admin.issueLicenses({ app: sales.app, seatLimit: 1, validFor: { days: 10 } });
    const licenseId = issued.licenses[0]?.license?.licenseId ?? '';
    await activate(gatewayUrl, issued.licenses[0]?.licenseKey ?? '', 'machine');
    const { session } = await buy(sales, `${sales.app}/renewal`, { licenseId });
    await admin.revokeLicense({ licenseId, reason: 'test' });
    await pay(sales.payments, session);
    const { orderId, state } = await orderOf(sales, session.sessionId);
    expect(state).to.equal(OrderState.BLOCKED);
    expect((await scene.mails.listMails({ order: orderId })).mails).to.deep.equal([]);
    await admin.reinstateLicense({ licenseId });
    await sales.orders.retryOrder({ order: orderId });
    await untilMail(scene, orderId, isSent, 'is sent');
  });

  it('writes no mail for an order without a customer', async () => {
    const { payments } = scene.sales;
    const { session } = await payments.sessions.createChargeSession({
      slot: 'store',
      offer: scene.pro,
      currency: 'BDT',
    });
    if (session === undefined) throw new Error('no session was created');
    await pay(payments, session);
    expect((await scene.mails.listMails({ order: session.sessionId })).mails).to.deep.equal([]);
  });

  it('sends no key that was replaced', async () => {
    scene.server.refuse('recipient', { code: 451, message: 'greylisted' });
    const { order } = await buyAndPay(scene.sales, scene.pro);
    await untilMail(scene, order.orderId, wasDeferred, 'waits');
    await scene.sales.payments.hub.admin.rekeyLicense({ licenseId: order.licenses[0]?.licenseId ?? '' });
    aheadMs += MINUTE_MS;
    const failed = await untilMail(scene, order.orderId, isFailed, 'is failed');
    expect(failed.problem).to.equal('the license keys of the order have been replaced');
  });

  it('sends no key of an order whose payment was reversed, until the payment is valid again', async () => {
    scene.server.refuse('recipient', { code: 451, message: 'greylisted' });
    const { order, session } = await buyAndPay(scene.sales, scene.pro);
    await untilMail(scene, order.orderId, wasDeferred, 'waits');
    await reversePayment(scene.sales, session);
    aheadMs += MINUTE_MS;
    const failed = await untilMail(scene, order.orderId, isFailed, 'is failed');
    expect(failed.problem).to.equal('the payment of the order was refunded');
    const restored = await restorePayment(scene.sales, session);
    expect(restored.state).to.equal(OrderState.FULFILLED);
    const sent = await untilMail(scene, order.orderId, isSent, 'is sent');
    expect(sent).to.include({ mailId: failed.mailId, attempts: 1, problem: '' });
    expect(sent.messageId).not.to.equal(failed.messageId);
    expect(scene.server.mails.at(-1)?.headers.get('message-id')).to.equal(`<${sent.messageId}>`);
  });

  it('sends a queued mail at once, with the same Message-ID, when the payment is valid again', async () => {
    scene.server.refuse('recipient', { code: 451, message: 'greylisted' });
    const { order, session } = await buyAndPay(scene.sales, scene.pro);
    const queued = await untilMail(scene, order.orderId, wasDeferred, 'waits');
    await reversePayment(scene.sales, session);
    await restorePayment(scene.sales, session);
    const sent = await untilMail(scene, order.orderId, isSent, 'is sent');
    expect(sent).to.include({ attempts: 1, messageId: queued.messageId });
  });

  it('does not send a mail again when the payment is valid again', async () => {
    const { order, session } = await buyAndPay(scene.sales, scene.pro);
    const sent = await untilMail(scene, order.orderId, isSent, 'is sent');
    await reversePayment(scene.sales, session);
    await restorePayment(scene.sales, session);
    expect(await mailOf(scene, order.orderId)).to.deep.equal(sent);
  });

  it('sends other mails while the mail server stalls one', async () => {
    const { server } = scene;
    const slow = 'slow@example.com';
    const isSlow = ({ to }: ReceivedMail): boolean => to.includes(slow);
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    server.onMail = (mail) => {
      if (!isSlow(mail)) return undefined;
      arrived.resolve();
      return release.promise;
    };
    try {
      const stalled = await buyAndPay(scene.sales, scene.pro, { customer: { name: 'Slow', email: slow } });
      await arrived.promise;
      const others = await Promise.all(Array.from({ length: 9 }, () => buyAndPay(scene.sales, scene.pro)));
      for (const { order } of others) await untilMail(scene, order.orderId, isSent, 'is sent');
      expect(server.mails.filter(isSlow)).to.deep.equal([]);
      expect(await mailOf(scene, stalled.order.orderId)).to.include({ state: MailState.QUEUED, attempts: 0 });
      release.resolve();
      await untilMail(scene, stalled.order.orderId, isSent, 'is sent');
    } finally {
      release.resolve();
      server.onMail = () => {};
    }
  });

  it('sends a mail once with two hubs', async () => {
    const { payments } = scene.sales;
    const settings = {
      smtpUrl: `smtp://127.0.0.1:${scene.server.port}`,
      mailFrom: { name: '', address: 'shop@shop.example' },
    };
    // A hub whose clock is behind would send again what this one claims.
    const beside = await startHub({ settings, clock, beside: payments.hub });
    try {
      const before = scene.server.mails.length;
      const orders = await Promise.all(Array.from({ length: 12 }, () => buyAndPay(scene.sales, scene.pro)));
      for (const { order } of orders) await untilMail(scene, order.orderId, isSent, 'is sent');
      const ids = scene.server.mails.slice(before).map(({ headers }) => headers.get('message-id'));
      expect(new Set(ids).size).to.equal(12);
      expect(ids).to.have.length(12);
    } finally {
      await beside.stop();
    }
  });

  it('stores and logs neither keys nor addresses', async () => {
    const { sales, server } = scene;
    const canaries = createCanaries();
    const email = `${canaries.make()}@example.com`;
    server.refuse('recipient', { code: 451, message: `<${email}>: try later` });
    const { order, session, claimToken } = await buyAndPay(sales, scene.pro, {
      customer: { name: 'Canary', email },
    });
    await untilMail(scene, order.orderId, wasDeferred, 'waits');
    aheadMs += MINUTE_MS;
    const { mailId } = await untilMail(scene, order.orderId, isSent, 'is sent');
    await scene.mails.previewMail({ order: order.orderId });
    await scene.mails.sendTestMail({ to: email, app: sales.app });
    const { licenses } = await sales.orders.getClaimedOrder({ sessionId: session.sessionId, claimToken });
    const key = licenses[0]?.licenseKey ?? '';
    expect(server.mails.some(({ text: body, to }) => to.includes(email) && body.includes(key))).to.equal(
      true,
    );
    canaries.add(key);
    const { databaseUrl } = sales.payments.hub;
    const rows = await query<{ row: string }>(databaseUrl, 'select row_to_json(m)::text as row from mail m');
    expect(rows.some(({ row }) => row.includes(parseId('mal', mailId) ?? ''))).to.equal(true);
    expect(canaries.found(rows.map(({ row }) => row).join('\n'))).to.deep.equal([]);
    await until(
      async () => (await query(databaseUrl, 'select from event_outbox')).length === 0,
      'events are numbered',
    );
    const onlyKey = createCanaries();
    onlyKey.add(key);
    expect(onlyKey.found(await dumpOf(databaseUrl))).to.deep.equal([]);
    log.end();
    expect(canaries.found(await logged)).to.deep.equal([]);
  });
});
