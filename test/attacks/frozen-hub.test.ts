// A hub freezes between the provider's answer and its settlement, for longer than its verification lease.
// Another hub takes the lease and settles a newer answer. The old answer then changes nothing, and the
// provider is called again.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { type ChargeSession, UsageLogKind } from '../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { scrape } from '../support/hub/metrics.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  journal,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
} from '../support/hub/payment.ts';
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { createMigratedDatabase, query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const SETTINGS = { providerTimeoutMs: 2_000, retryDelaySeconds: 1, sweepAfterMs: [4 * 3_600_000] };

describe('a hub frozen past its verification lease', () => {
  /** The frozen one: its way to the database is held up. */
  let payments: Payments;
  let other: TestHub;
  let proxy: TcpProxy;
  let databaseUrl: string;
  const log: string[] = [];
  before(async () => {
    databaseUrl = await createMigratedDatabase();
    proxy = await startTcpProxy(databaseUrl);
    const write = (line: string) => log.push(line);
    payments = await startPayments({ log: { write }, settings: { ...SETTINGS, databaseUrl: proxy.url } });
    other = await startHub({ settings: SETTINGS, beside: { dataDir: payments.hub.dataDir, databaseUrl } });
  });
  after(async () => {
    proxy?.release();
    await other?.stop();
    await payments?.stop();
    await proxy?.down();
  });

  /** Freezes the hub once `work` has the provider's answer and is about to settle it, and lets its lease run out. */
  const freezeAmid = async <T>(session: ChargeSession, work: () => Promise<T>) => {
    proxy.holdBack('lock_session');
    const working = work();
    await until(() => proxy.holds(), 'the hub is about to settle');
    const expired = await query(
      databaseUrl,
      `update charge_session set verifying_until = now()
       where merchant_transaction_id = $1 and verifying_by is not null returning id`,
      [session.merchantTransactionId],
    );
    expect(expired, 'leases that ran out').to.have.length(1);
    return { working };
  };
  const recheckElsewhere = async ({ sessionId }: ChargeSession) =>
    (await createClient(PaymentService, other.transport).recheckChargeSession({ sessionId })).session;
  const fenced = async () => (await scrape(payments.hub)).sum('hub_settlements_fenced_total');

  for (const gateway of GATEWAYS) {
    it(`does not settle an old "paid" of ${gateway} over a newer "reversed"`, async () => {
      const session = await createSession(payments, gateway);
      const proof = payQuietly(payments, session);
      const before = await fenced();
      const { working } = await freezeAmid(session, () =>
        callBack(payments.hub.gatewayUrl, gateway, callbackFields(session, 'paid', proof)),
      );
      payments.simulator.reverse(session.providerPaymentId);
      await recheckElsewhere(session);
      expect(await statusOf(payments, session)).to.equal('cancelled');
      proxy.release();

      expect((await working).status).to.equal(200);
      await until(
        async () => (await journal(payments, session)).every(({ state }) => state !== 'received'),
        'the callback is dealt with',
      );
      const history = await inspect(payments, session);
      expect(await statusOf(payments, session)).to.equal('cancelled');
      expect(history.usageLogs).to.deep.equal([]);
      expect(history.verifications.map(({ outcome }) => outcome)).to.include.members(['paid', 'reversed']);
      expect(await fenced()).to.equal(before + 1);
      expect(
        log.filter((line) => line.includes('another hub took the verification lease')),
      ).to.not.have.length(0);
    });
  }

  it('does not settle an old "reversed" over a restored payment', async () => {
    const session = await createSession(payments, 'gateway_one');
    const proof = payQuietly(payments, session);
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
    payments.simulator.reverse(session.providerPaymentId);
    const { sessionId } = session;
    const { working } = await freezeAmid(session, () =>
      payments.sessions.recheckChargeSession({ sessionId }),
    );
    // Another hub first learns of the reversal, and of a later payment.
    await recheckElsewhere(session);
    payments.simulator.standAgain(session.providerPaymentId);
    await recheckElsewhere(session);
    expect(await statusOf(payments, session)).to.equal('success');
    proxy.release();

    await working;
    expect(await statusOf(payments, session)).to.equal('success');
    expect((await inspect(payments, session)).usageLogs.map(({ kind }) => kind)).to.deep.equal([
      UsageLogKind.PAYMENT,
      UsageLogKind.REVERSAL,
      UsageLogKind.LATER_PAYMENT,
    ]);
  });

  it('does not return a checkout that another hub has created meanwhile', async () => {
    const idempotencyKey = 'frozen-1';
    const request = { slot: 'store', amount: { minorUnits: 10_000n, currency: 'BDT' }, idempotencyKey };
    proxy.holdBack('lock_session');
    const creating = payments.sessions.createChargeSession(request);
    await until(() => proxy.holds(), 'the hub is about to store the checkout');
    await query(databaseUrl, 'update charge_session set verifying_until = now() where idempotency_key = $1', [
      idempotencyKey,
    ]);
    const made = await createClient(PaymentService, other.transport).createChargeSession(request);
    proxy.release();
    expect((await creating).session).to.deep.equal(made.session);
  });
});
