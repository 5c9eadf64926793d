// The database goes away while a provider is asked: the lease of the question must not outlast the outage by its whole length.

import { expect } from 'chai';
import {
  callBack,
  callbackFields,
  createSession,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/network/tcp-proxy.ts';
import { createMigratedDatabase } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('a database outage during a provider call', () => {
  let proxy: TcpProxy;
  let payments: Payments;
  const log: string[] = [];
  before(async () => {
    proxy = await startTcpProxy(await createMigratedDatabase());
    payments = await startPayments({
      log: { write: (line) => log.push(line) },
      // The lease of a question is longer than a minute then.
      settings: { databaseUrl: proxy.url, providerTimeoutMs: 30_000, callbackBudgetMs: 500 },
    });
  });
  after(async () => {
    await payments?.stop();
    await proxy.down();
  });

  it('delays the session only until the database is back', async () => {
    const session = await createSession(payments, 'gateway_one');
    const proof = payQuietly(payments, session);
    payments.tap.hold();
    const called = callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
    await until(() => payments.tap.held() > 0, 'the provider receives a query');
    await called;
    await proxy.down();
    payments.tap.release();
    const failed = () => log.some((line) => line.includes('cannot process the callback inline'));
    await until(failed, 'the hub has the answer, and nowhere to write it');
    await proxy.up();
    const status = () => statusOf(payments, session).catch(() => 'nobody knows'); // one call may still be refused
    await until(async () => (await status()) === 'success', 'the session is settled');
  });

  it('delays no session whose callback is stored, although the answer is lost', async () => {
    const session = await createSession(payments, 'gateway_one');
    const fields = callbackFields(session, 'paid', payQuietly(payments, session));
    proxy.loseAnswerTo('append_and_lease_callbacks');
    expect((await callBack(payments.hub.gatewayUrl, 'gateway_one', fields)).status).to.equal(503);
    expect((await callBack(payments.hub.gatewayUrl, 'gateway_one', fields)).status).to.equal(200);
    await untilStatus(payments, session, 'success');
  });
});
