// Hubs on one database whose machines do not have the same time: one is an hour ahead, one an hour behind.
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { type HubProcess, spawnHub } from '../../../support/hub/hub-process.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  type Payments,
  payQuietly,
  startPayments,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const HOUR_MS = 3_600_000;
const SKEW = fileURLToPath(new URL('../../../support/hub/skewed-clock.ts', import.meta.url));

describe('hubs with wrong clocks', () => {
  let payments: Payments;
  let ahead: HubProcess;
  let behind: HubProcess;
  before(async () => {
    payments = await startPayments({ settings: { sweepAfterMs: [1_000, 4 * HOUR_MS] } });
    const { dataDir, databaseUrl } = payments.hub;
    const start = (skewMs: number) =>
      spawnHub({
        HUB_DATA_DIR: dataDir,
        DATABASE_URL: databaseUrl,
        HUB_SWEEP_AFTER_SECONDS: '1,14400',
        HUB_RETRY_DELAY_SECONDS: '1',
        HUB_PROVIDER_TIMEOUT_MS: '2000',
        HUB_TEST_SKEW_MS: String(skewMs),
        NODE_OPTIONS: `--import=${SKEW}`,
      });
    [ahead, behind] = await Promise.all([start(HOUR_MS), start(-HOUR_MS)]);
  });
  after(async () => {
    await Promise.all([ahead?.stop(), behind?.stop()]);
    await payments.stop();
  });

  const rowOf = async ({ merchantTransactionId }: ChargeSession) => {
    const [row] = await query<{ checks: number; nextInSeconds: number; waitedSeconds: number }>(
      payments.hub.databaseUrl,
      `select c.checks, extract(epoch from c.next_check_at - now())::float8 as "nextInSeconds",
              extract(epoch from now() - k.tried_since)::float8 as "waitedSeconds"
       from charge_session c left join callback k on k.session_id = c.id
       where c.merchant_transaction_id = $1`,
      [merchantTransactionId],
    );
    return row ?? expect.fail('no session');
  };

  it('schedule callbacks for a time that all of them consider due soon', async () => {
    for (const { gatewayUrl } of [ahead, behind]) {
      const session = await createSession(payments, 'gateway_one');
      const { providerPaymentId: ref } = session;
      // The first verification, by callback or by sweep, fails.
      for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
        for (let time = 0; time < 2; time++)
          payments.simulator.faults.add({ kind: 'error_500', operation, ref });
      }
      const fields = callbackFields(session, 'paid', payQuietly(payments, session));
      await callBack(gatewayUrl, 'gateway_one', fields);
      const { nextInSeconds, waitedSeconds } = await rowOf(session);
      expect(nextInSeconds, 'seconds to the next question').to.be.within(-60, 60);
      expect(waitedSeconds, 'seconds waited').to.be.within(-60, 60);
      await untilStatus(payments, session, 'success', 20_000);
    }
  });

  it('do not take over a verification of another hub', async () => {
    const [session, marker] = [
      await createSession(payments, 'gateway_one'),
      await createSession(payments, 'gateway_one'),
    ];
    const later =
      "update charge_session set next_check_at = now() + interval '1.5 s' where merchant_transaction_id =";
    await query(payments.hub.databaseUrl, `${later} '${marker.merchantTransactionId}'`);
    payments.tap.hold();
    await until(() => payments.tap.held() === 2, 'both are being asked about');
    expect((await rowOf(session)).checks).to.equal(1);
    payments.tap.release();
  });

  for (const gateway of GATEWAYS) {
    it(`settle each session of ${gateway} once, by callback or by sweep`, async () => {
      const sessions = await Promise.all(Array.from({ length: 6 }, () => createSession(payments, gateway)));
      payments.tap.forget();
      const urls = [payments.hub.gatewayUrl, ahead.gatewayUrl, behind.gatewayUrl];
      await Promise.all(
        sessions.map(async (session, index) => {
          const fields = callbackFields(session, 'paid', payQuietly(payments, session));
          const url = urls[index];
          if (url !== undefined) await callBack(url, gateway, fields); // the others are lost
        }),
      );
      for (const session of sessions) {
        await untilStatus(payments, session, 'success', 20_000);
        const { usageLog } = await inspect(payments, session);
        const off = Number(usageLog?.settledAt?.seconds) * 1_000 - Date.now();
        expect(Math.abs(off), 'ms from the right time').to.be.lessThan(60_000);
        const payment = payments.simulator.payments().find(({ ref }) => ref === session.providerPaymentId);
        expect(payment?.executions).to.equal(1);
      }
    });
  }
});
