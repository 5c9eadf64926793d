// A flood of forged callbacks: the verifications it causes, and the fate of the real callbacks in it.
import { expect } from 'chai';
import { MAX_WAITING_CALLBACKS } from '../../../../core/payment/callbacks/postpone-or-give-up.ts';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  type GatewayName,
  inspect,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

/** Questions that callbacks may cause about a session at once. */
const AT_ONCE = 5;
/** What one question may take: validate and query, or execute and query. */
const CALLS_EACH = 2;
const CONNECTIONS = 40;
/** Callbacks that a session keeps. */
const KEPT = 100;

describe('a flood of forged callbacks', () => {
  let payments: Payments;
  /** How far the hub's clock is ahead. */
  let aheadMs: number;
  const clock = () => new Date(Date.now() + aheadMs);
  before(async () => {
    aheadMs = 0;
    const settings = { sweepAfterMs: [1_000, 4 * 3_600_000], providerQuestions: 4 };
    payments = await startPayments({ clock, settings });
  });
  beforeEach(() => payments.tap.forget());
  after(() => payments.stop());

  /** Calls back so many times over a number of connections; the statuses of the answers. */
  const flood = async (times: number, call: (index: number) => Promise<{ status: number }>) => {
    const statuses = new Map<number, number>();
    let next = 0;
    const send = async (): Promise<void> => {
      while (next < times) {
        const { status } = await call(next++);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, send));
    return Object.fromEntries(statuses);
  };
  const forge = (gateway: GatewayName, session: ChargeSession, index: number) =>
    callBack(payments.hub.gatewayUrl, gateway, callbackFields(session, 'paid', `FORGED${index}`));
  const countsOf = async (session: ChargeSession) => {
    const { callbackCounts } = await inspect(payments, session);
    return {
      kept: Number(callbackCounts.reduce((sum, { kept }) => sum + kept, 0n)),
      onlyCounted: Number(callbackCounts.reduce((sum, { onlyCounted }) => sum + onlyCounted, 0n)),
    };
  };
  const questions = () => payments.tap.calls.filter((path) => !path.endsWith('/grant'));
  /** Unprocessed callbacks and pending jobs. */
  const open = async (): Promise<number> => {
    const [row] = await query<{ open: number }>(
      payments.hub.databaseUrl,
      `select (select count(*) from callback where state = 'received')::int +
         (select count(*) from job where name = 'callback' and state in ('created', 'retry', 'active'))::int as open`,
    );
    return row?.open ?? 0;
  };

  for (const gateway of GATEWAYS) {
    it(`for one session of ${gateway} causes few verifications, is answered, and is stored up to the limit of the session`, async () => {
      const session = await createSession(payments, gateway);
      payments.tap.forget();
      const times = gateway === 'gateway_one' ? 600 : 200;
      const before = performance.now();
      expect(await flood(times, (index) => forge(gateway, session, index))).to.deep.equal({ 200: times });
      await until(async () => (await open()) === 0, 'everything is processed', 30_000);
      // Those at once, one more after each pause of 5 and more seconds, and as many of the sweep's.
      const pauses = Math.ceil((performance.now() - before) / 5_000);
      expect(questions().length).to.be.within(1, 2 * (AT_ONCE + pauses) * CALLS_EACH);
      expect(await statusOf(payments, session)).to.equal('pending');
      expect(await countsOf(session)).to.deep.equal({ kept: KEPT, onlyCounted: times - KEPT });
    });

    it(`does not prevent the settlement of a paid session of ${gateway}`, async () => {
      const session = await createSession(payments, gateway);
      await flood(50, (index) => forge(gateway, session, index));
      const proof = payQuietly(payments, session);
      payments.tap.forget();
      const fields = callbackFields(session, 'paid', proof);
      expect((await callBack(payments.hub.gatewayUrl, gateway, fields)).status).to.equal(200);
      await flood(50, (index) => forge(gateway, session, index));
      // The next verification is at most a minute away; the sweep makes it without another callback.
      aheadMs += 60_000;
      await untilStatus(payments, session, 'success', 15_000);
      const { usageLog } = await inspect(payments, session);
      expect(usageLog?.amount).to.include({ minorUnits: 10_000n });
      expect(await countsOf(session)).to.deep.equal({ kept: KEPT, onlyCounted: 101 - KEPT });
      expect(questions().length).to.be.at.most(3 * CALLS_EACH);
    });
  }

  it('is limited by the session that it resolves to, whatever its session_id', async () => {
    const session = await createSession(payments, 'gateway_one');
    const { session_id: _, ...fields } = callbackFields(session, 'paid', 'FORGED');
    const others = ['', 'chs_00000000000000000000000000', 'nonsense'];
    const times = KEPT + 30;
    await flood(times, (index) => {
      const sessionId = others[index % (others.length + 1)];
      const named = sessionId === undefined ? {} : { session_id: sessionId };
      return callBack(payments.hub.gatewayUrl, 'gateway_one', { ...fields, ...named });
    });
    await until(async () => (await open()) === 0, 'everything is processed', 30_000);
    expect(await countsOf(session)).to.deep.equal({ kept: KEPT, onlyCounted: 30 });
  });

  it('keeps few callbacks of a session waiting, and settles the others by the same verification', async () => {
    const session = await createSession(payments, 'gateway_one');
    const waiting = 3 * MAX_WAITING_CALLBACKS;
    payments.tap.hold();
    const held = payments.tap.held();
    await query(
      payments.hub.databaseUrl,
      `with session as (
         update charge_session set next_check_at = now(), callbacks_waited = true
         where merchant_transaction_id = '${session.merchantTransactionId}'
         returning id, merchant_transaction_id as tran_id
       )
       insert into callback (id, gateway, fields, received_at, session_id, state, reason, attempts, tried_since)
       select gen_random_uuid(), 'gateway_one',
              jsonb_build_object('status', 'VALID', 'tran_id', tran_id, 'val_id', 'FORGED'), now(), id, 'received', '', 1, now()
       from session, generate_series(1, ${waiting})`,
    );
    await until(() => payments.tap.held() > held, 'the provider is being queried');
    const states = () =>
      query<{ state: string; reason: string; callbacks: number }>(
        payments.hub.databaseUrl,
        `select state, reason, count(*)::int as callbacks from callback c join charge_session s on s.id = c.session_id
         where s.merchant_transaction_id = '${session.merchantTransactionId}' group by state, reason order by callbacks`,
      );
    const joined = waiting - MAX_WAITING_CALLBACKS;
    expect((await states()).map(({ state, callbacks }) => [state, callbacks])).to.deep.equal([
      ['received', MAX_WAITING_CALLBACKS],
      ['ignored', joined],
    ]);
    payments.tap.release();
    await until(async () => (await open()) === 0, 'everything is processed');
    expect((await states()).map(({ callbacks }) => callbacks)).to.deep.equal([MAX_WAITING_CALLBACKS, joined]);
    // What many of them say alike is no proof as long as the others were not looked at.
    expect(questions().filter((path) => path.includes('validationserver'))).to.deep.equal([]);
  });

  it('for many sessions causes a limited number of concurrent verifications', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 20 }, () => createSession(payments, 'gateway_one')),
    );
    payments.tap.forget();
    payments.simulator.setLatency(10);
    const times = 300;
    const before = performance.now();
    const sessionAt = (index: number) => sessions[index % sessions.length] ?? expect.fail();
    const answers = await flood(times, (index) => forge('gateway_one', sessionAt(index), index));
    payments.simulator.setLatency(0);
    expect(answers).to.deep.equal({ 200: times });
    await until(async () => (await open()) === 0, 'everything is processed', 30_000);
    expect(payments.tap.peak()).to.be.at.most(4);
    const pauses = Math.ceil((performance.now() - before) / 5_000);
    expect(questions().length).to.be.at.most(sessions.length * 2 * (AT_ONCE + pauses) * CALLS_EACH);
  });

  it('for unknown sessions causes no verifications and leaves no jobs', async () => {
    const times = 500;
    const answers = await flood(times, (index) =>
      callBack(payments.hub.gatewayUrl, 'gateway_one', {
        session_id: `chs_unknown${index}`,
        status: 'VALID',
        tran_id: `UNKNOWN${index}`,
        val_id: 'FORGED',
      }),
    );
    expect(answers).to.deep.equal({ 200: times });
    // The sweep may verify sessions of the other tests, but only a callback causes a validation.
    expect(questions().filter((path) => path.includes('validationserver'))).to.deep.equal([]);
    await until(async () => (await open()) === 0, 'everything is processed');
  });

  it('allows verifications of one session at growing intervals of at most a minute', async () => {
    const session = await createSession(payments, 'gateway_one');
    const pauses = [0, 0, 0, 0, 5, 10, 20, 40, 60, 60, 60];
    for (const [time, pause] of pauses.entries()) {
      await query(
        payments.hub.databaseUrl,
        'update charge_session set verification_allowed_at = now() where merchant_transaction_id = $1',
        [session.merchantTransactionId],
      );
      const beforeMs = Date.now();
      await forge('gateway_one', session, time);
      const afterMs = Date.now();
      const [row] = await query<{ ms: number | null }>(
        payments.hub.databaseUrl,
        `select extract(epoch from verification_allowed_at)::float * 1000 as ms
         from charge_session where merchant_transaction_id = $1`,
        [session.merchantTransactionId],
      );
      // The pause begins when the hub verifies, between these two times. Without a pause there is no time.
      const secondsAfter = (ms: number): number => (row?.ms == null ? 0 : (row.ms - ms) / 1_000);
      expect(pause, `pause ${time}`).to.be.within(secondsAfter(afterMs) - 0.5, secondsAfter(beforeMs) + 0.5);
    }
  });
});
