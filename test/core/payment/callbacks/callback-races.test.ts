// Many callbacks of one session at the same time, at one hub and at two hub processes; and a hub that is killed.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../../gen/hub/payment/v1/payment_service_pb.ts';
import { transportTo } from '../../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../../support/hub/hub-process.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  type JournalEntry,
  journal,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const PROVIDER_TIMEOUT_MS = 1_000;

const isSettled = ({ state }: JournalEntry) => state === 'settled';

describe('two hubs on one database', () => {
  let payments: Payments;
  let beside: HubProcess;
  before(async () => {
    payments = await startPayments({ settings: { providerTimeoutMs: PROVIDER_TIMEOUT_MS } });
    await payments.admin.addFeeRule({ rule: { name: 'card', basisPoints: 250 } });
    await payments.admin.addFeeRule({ rule: { name: 'tax', basisPoints: 100 } });
    beside = await spawnHub({
      HUB_DATA_DIR: payments.hub.dataDir,
      DATABASE_URL: payments.hub.databaseUrl,
      HUB_PROVIDER_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS),
      HUB_RETRY_DELAY_SECONDS: '1',
      // The same schedule as the other hub: otherwise it would verify sessions at once that are due in hours.
      HUB_SWEEP_AFTER_SECONDS: '14400',
    });
  });
  after(async () => {
    await beside?.stop();
    await payments.stop();
  });

  for (const gateway of GATEWAYS) {
    for (const hubs of ['one', 'both'] as const) {
      it(`settle a session once for 50 concurrent callbacks of ${gateway} to ${hubs}`, async () => {
        const session = await createSession(payments, gateway);
        const fields = callbackFields(session, 'paid', payQuietly(payments, session));
        payments.tap.forget();
        payments.simulator.setLatency(100);
        const urls = [payments.hub.gatewayUrl, hubs === 'one' ? payments.hub.gatewayUrl : beside.gatewayUrl];
        const answers = await Promise.all(
          Array.from({ length: 50 }, (_, index) => callBack(urls[index % 2] ?? '', gateway, fields)),
        );
        payments.simulator.setLatency(0);
        expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
        await until(
          async () => (await journal(payments, session)).filter(isSettled).length === 50,
          'every callback is settled',
        );
        await expectSettledOnce(session);
        expect(payments.tap.peak(), 'provider calls at the same time').to.equal(1);
        expect(payments.tap.calls.filter((path) => !path.endsWith('/grant'))).to.have.length(1);
      });
    }
  }

  it('stream each status change to watchers at the other hub', async () => {
    const session = await createSession(payments, 'gateway_one');
    const elsewhere = createClient(PaymentService, transportTo(beside.rpcUrl, payments.hub.token));
    const ending = new AbortController();
    const seen: (string | undefined)[] = [];
    const watching = (async () => {
      const { sessionId } = session;
      for await (const { session: now } of elsewhere.watchChargeSession(
        { sessionId },
        { signal: ending.signal },
      )) {
        seen.push(now?.statusReason);
      }
    })().catch(() => {}); // ended by the signal
    await until(() => seen.length === 1, 'the current session is shown');
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    await until(() => seen.length === 2, 'the failure is seen');
    await callBack(
      payments.hub.gatewayUrl,
      'gateway_one',
      callbackFields(session, 'paid', payQuietly(payments, session)),
    );
    await until(() => seen.length === 3, 'the success is seen');
    ending.abort();
    await watching;
    expect(seen).to.deep.equal([
      'waiting for the customer',
      'a callback said FAILED',
      'the provider says VALID: 100.00 BDT',
    ]);
  });

  it('execute a payment once, although one hub is killed between execution and response', async () => {
    const session = await createSession(payments, 'gateway_two');
    payQuietly(payments, session);
    payments.tap.forget();
    payments.tap.hold();
    const answered = callBack(beside.gatewayUrl, 'gateway_two', callbackFields(session, 'paid')).catch(
      () => {},
    );
    await until(() => payments.tap.held() > 0, 'the provider has executed the payment');
    beside.child.kill('SIGKILL');
    await answered;
    payments.tap.release();
    expect(await statusOf(payments, session)).to.equal('pending');
    await untilStatus(payments, session, 'success', 30_000);
    await expectSettledOnce(session);
    const payment = payments.simulator.payments().find(({ ref }) => ref === session.providerPaymentId);
    expect(payment).to.include({ executions: 1 });
    expect(payments.tap.calls).to.deep.equal([
      '/gateway_two/execute',
      '/gateway_two/execute',
      '/gateway_two/payment/status',
    ]);
    expect(payments.tap.peak()).to.equal(1);
  });

  /** One usage log with one set of fee lines, and both in the database itself. */
  async function expectSettledOnce(session: ChargeSession): Promise<void> {
    expect(await statusOf(payments, session)).to.equal('success');
    const { usageLog } = await inspect(payments, session);
    expect(usageLog?.fees.map(({ rule, amount }) => [rule, amount?.minorUnits])).to.deep.equal([
      ['card', 250n],
      ['tax', 100n],
    ]);
    const rows = await query<{ lines: number }>(
      payments.hub.databaseUrl,
      `select (select count(*) from fee_line f where f.usage_log_id = u.id)::int as lines
       from usage_log u join charge_session c on c.id = u.id where c.merchant_transaction_id = $1`,
      [session.merchantTransactionId],
    );
    expect(rows).to.deep.equal([{ lines: 2 }]);
  }
});
