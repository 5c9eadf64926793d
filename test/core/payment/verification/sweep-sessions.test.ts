import { expect } from 'chai';
import { parseId } from '../../../../core/ids.ts';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { startHub } from '../../../support/hub/hub.ts';
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
  untilStatus,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const FIRST_MS = 1_000; // the hub looks four times in it
const MINUTE_MS = 60_000;
const SETTINGS = { sweepAfterMs: [FIRST_MS, 10 * MINUTE_MS, 20 * MINUTE_MS] };

describe('the sweep', () => {
  let payments: Payments;
  /** How far the hub's clock is ahead. */
  let aheadMs: number;
  /** The time at which the clock stands still. Undefined while it runs. */
  let stoppedAtMs: number | undefined;
  const clock = () => new Date((stoppedAtMs ?? Date.now()) + aheadMs);
  before(async () => {
    aheadMs = 0;
    payments = await startPayments({ settings: SETTINGS, clock });
  });
  after(() => payments.stop());

  const verificationsOf = async (session: ChargeSession): Promise<number> =>
    (await inspect(payments, session)).verifications.filter(({ operation }) => operation === 'query').length;

  for (const gateway of GATEWAYS) {
    it(`settles a session of ${gateway} after a lost callback`, async () => {
      const session = await createSession(payments, gateway);
      payQuietly(payments, session);
      aheadMs += FIRST_MS;
      await untilStatus(payments, session, 'success');
      const { callbacks, verifications, usageLog } = await inspect(payments, session);
      expect(callbacks).to.deep.equal([]);
      expect(verifications.at(-1)).to.include({ outcome: 'paid', callbackId: '' });
      expect(usageLog?.amount).to.include({ minorUnits: 10_000n });
    });

    it(`settles a session of ${gateway} after a forged failure`, async () => {
      const session = await createSession(payments, gateway);
      await callBack(payments.hub.gatewayUrl, gateway, callbackFields(session, 'failed'));
      expect(await statusOf(payments, session)).to.equal('failed');
      payQuietly(payments, session);
      aheadMs += FIRST_MS;
      await untilStatus(payments, session, 'success');
    });

    it(`records that a checkout of ${gateway} was cancelled, and settles it if it is paid later`, async () => {
      const session = await createSession(payments, gateway);
      payments.simulator.faults.add({ kind: 'lost', operation: 'callback', ref: session.providerPaymentId });
      payments.simulator.cancel(session.providerPaymentId);
      aheadMs += FIRST_MS;
      await untilStatus(payments, session, 'cancelled');
      if (gateway === 'gateway_two') return; // its checkouts are over then
      payQuietly(payments, session);
      aheadMs += 10 * MINUTE_MS;
      await untilStatus(payments, session, 'success');
    });
  }

  it('retries at the next time if the provider did not answer', async () => {
    const session = await createSession(payments, 'gateway_one');
    const ref = session.providerPaymentId;
    payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.query', ref });
    payQuietly(payments, session);
    aheadMs += FIRST_MS;
    await until(async () => (await verificationsOf(session)) === 1, 'the provider has received a query');
    expect(await statusOf(payments, session)).to.equal('pending');
    aheadMs += 10 * MINUTE_MS;
    await untilStatus(payments, session, 'success');
  });

  it('verifies an unpaid session only at its times', async () => {
    const session = await createSession(payments, 'gateway_one');
    aheadMs += FIRST_MS;
    await until(async () => (await verificationsOf(session)) === 1, 'it was verified');
    aheadMs += MINUTE_MS;
    const later = await createSession(payments, 'gateway_one');
    aheadMs += FIRST_MS;
    await until(async () => (await verificationsOf(later)) === 1, 'a later one was verified');
    expect(await verificationsOf(session)).to.equal(1);
    aheadMs += 9 * MINUTE_MS;
    await until(async () => (await verificationsOf(session)) === 2, 'it was asked about again');
  });

  it('retries soon after a callback that came too early', async () => {
    const session = await createSession(payments, 'gateway_two');
    aheadMs += FIRST_MS;
    await until(async () => (await verificationsOf(session)) === 1, 'it was verified');
    await callBack(payments.hub.gatewayUrl, 'gateway_two', callbackFields(session, 'paid'));
    expect((await journal(payments, session))[0]).to.include({ state: 'ignored' });
    payQuietly(payments, session);
    aheadMs += MINUTE_MS / 2;
    await untilStatus(payments, session, 'success');
  });

  it('does not verify paid sessions', async () => {
    const session = await createSession(payments, 'gateway_one');
    payQuietly(payments, session);
    aheadMs += FIRST_MS;
    await untilStatus(payments, session, 'success');
    const asked = await verificationsOf(session);
    aheadMs += 20 * MINUTE_MS;
    const later = await createSession(payments, 'gateway_one');
    aheadMs += FIRST_MS;
    await until(async () => (await verificationsOf(later)) === 1, 'a later one was verified');
    expect(await verificationsOf(session)).to.equal(asked);
  });

  describe('a check far in the future', () => {
    const schedule = async ({ sessionId }: ChargeSession, inMs: number): Promise<void> => {
      await query(
        payments.hub.databaseUrl,
        'update charge_session set next_check_at = $2, other_payment_since = $3 where id = $1',
        [parseId('chs', sessionId), new Date(clock().getTime() + inMs), clock()],
      );
    };
    const scheduledAt = async ({ sessionId }: ChargeSession): Promise<Date | null | undefined> => {
      const [row] = await query<{ at: Date | null }>(
        payments.hub.databaseUrl,
        'select next_check_at as at from charge_session where id = $1',
        [parseId('chs', sessionId)],
      );
      return row?.at;
    };
    const paidSession = async (): Promise<ChargeSession> => {
      const session = await createSession(payments, 'gateway_one');
      payQuietly(payments, session);
      aheadMs += FIRST_MS;
      await untilStatus(payments, session, 'success');
      return session;
    };
    const untilNextPass = async (): Promise<void> => {
      const later = await createSession(payments, 'gateway_one');
      aheadMs += FIRST_MS;
      await until(async () => (await verificationsOf(later)) === 1, 'a later session was verified');
    };

    it('keeps its time within the longest delay after an unanswered call', async () => {
      const session = await paidSession();
      await schedule(session, 59 * MINUTE_MS);
      const at = await scheduledAt(session);
      await untilNextPass();
      expect(await scheduledAt(session))
        .to.deep.equal(at)
        .and.be.instanceOf(Date);
    });

    it('takes place at once if no hub with the right time can have scheduled it', async () => {
      const session = await paidSession();
      await schedule(session, 3 * 60 * MINUTE_MS);
      await until(async () => (await scheduledAt(session)) === null, 'the sweep has checked the session');
    });
  });

  it('of two hubs verifies each session once', async () => {
    const beside = await startHub({ beside: payments.hub, clock, settings: SETTINGS });
    // With a running clock, a reservation could expire on a slow machine before the session is verified.
    stoppedAtMs = Date.now();
    try {
      const sessions = await Promise.all(
        Array.from({ length: 12 }, () => createSession(payments, 'gateway_one')),
      );
      aheadMs += FIRST_MS;
      const asked = () => Promise.all(sessions.map(verificationsOf));
      await until(async () => (await asked()).every((times) => times > 0), 'all were asked about');
      expect(await asked()).to.deep.equal(sessions.map(() => 1));
    } finally {
      stoppedAtMs = undefined;
      await beside.stop();
    }
  });
});
