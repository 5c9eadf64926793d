// The hub's clock jumps a day and ten years, ahead and back, while customers activate and pay.
import { expect } from 'chai';
import type { ChargeSession } from '../../gen/hub/payment/v1/payment_pb.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  type Payments,
  payQuietly,
  startPayments,
  untilStatus,
} from '../support/hub/payment.ts';
import { activate, checkStatus, deactivate } from '../support/network/rest.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const DAY_MS = 86_400_000;
const YEARS_MS = 3_652 * DAY_MS;
const LEASE_DAYS = 14;

describe('a hub with a clock that jumps', () => {
  let payments: Payments;
  let license: TestLicense;
  let aheadMs = 0;
  let origin: string;
  before(async () => {
    payments = await startPayments({
      clock: () => new Date(Date.now() + aheadMs),
      settings: { sweepAfterMs: [1_000, 2_000], licenseRatePerMinute: 10_000 },
    });
    const { admin, gatewayUrl } = payments.hub;
    origin = gatewayUrl;
    const expiresAt = { seconds: BigInt(Math.floor((Date.now() + 365 * DAY_MS) / 1_000)), nanos: 0 };
    license = await issueLicense(admin, { seatLimit: 1, leaseDays: LEASE_DAYS, expiresAt });
  });
  after(() => payments?.stop());

  /** Sessions paid without a callback, created before the clock jumped. */
  const unsettled: ChargeSession[] = [];

  async function payWithoutCallback(): Promise<void> {
    for (const gateway of GATEWAYS) {
      const session = await createSession(payments, gateway);
      payQuietly(payments, session);
      unsettled.push(session);
    }
  }

  const jumps = {
    'a day ahead': DAY_MS,
    'a day back': -DAY_MS,
    'ten years ahead': YEARS_MS,
    'ten years back': -YEARS_MS,
    'to the right time': 0,
  };
  for (const [where, ms] of Object.entries(jumps)) {
    it(`${where}, settles by callbacks and by sweeps, for old and new sessions`, async () => {
      await payWithoutCallback();
      aheadMs = ms;
      for (const gateway of GATEWAYS) {
        const session = await createSession(payments, gateway);
        const proof = payQuietly(payments, session);
        await callBack(origin, gateway, callbackFields(session, 'paid', proof));
        await untilStatus(payments, session, 'success');
      }
      await payWithoutCallback();
      for (const session of unsettled.splice(0)) await untilStatus(payments, session, 'success');
    });

    it(`${where}, activates and releases machines, with leases from now on`, async () => {
      const isExpired = ms > 365 * DAY_MS;
      const taken = await activate(origin, license.licenseKey, 'machine-1');
      expect(taken.status).to.equal(isExpired ? 410 : 200);
      if (!isExpired) {
        const { issuedAt, leaseExpiresAt } = taken.body.license;
        expect(Date.parse(leaseExpiresAt) - Date.parse(issuedAt)).to.equal(LEASE_DAYS * DAY_MS);
        expect(Math.abs(Date.parse(issuedAt) - Date.now() - ms), 'ms from the clock').to.be.lessThan(60_000);
        expect((await checkStatus(origin, license.licenseId, 'machine-1')).status).to.equal(200);
        expect((await activate(origin, license.licenseKey, 'machine-2')).status).to.equal(409);
        expect((await deactivate(origin, license.licenseKey, 'machine-1')).body.released).to.equal(true);
      }
      expect((await payments.hub.admin.listApps({})).apps.length).to.be.greaterThan(0);
    });
  }

  it('and returns, verifies a pending session on schedule again', async () => {
    aheadMs = 0;
    const session = await createSession(payments, 'gateway_one');
    aheadMs = YEARS_MS;
    await untilAskedAgain(session);
    await payWithoutCallback();
    for (const later of unsettled.splice(0)) await untilStatus(payments, later, 'success');
    aheadMs = 0;
    await untilAskedAgain(session);
    payQuietly(payments, session);
    await untilStatus(payments, session, 'success');
  });

  async function untilAskedAgain({ merchantTransactionId }: ChargeSession): Promise<void> {
    const checks = async (): Promise<number> => {
      const rows = await query<{ checks: number }>(
        payments.hub.databaseUrl,
        'select checks from charge_session where merchant_transaction_id = $1',
        [merchantTransactionId],
      );
      return rows[0]?.checks ?? 0;
    };
    const before = await checks();
    await until(async () => (await checks()) > before, 'the session is verified');
  }
});
