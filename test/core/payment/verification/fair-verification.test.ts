// Providers that hang, and sessions with many callbacks: they delay only themselves.
import { expect } from 'chai';
import { SlotEnvironment } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import {
  callBack,
  callbackFields,
  createSession,
  inspect,
  journal,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { type ProviderTap, startProviderTap } from '../../../support/hub/provider-tap.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const TIMEOUT_MS = 60_000;
/** Far less than the timeout of a provider that hangs: nothing can have waited for it. */
const SOON_MS = TIMEOUT_MS / 4;
const QUESTIONS = 4;
const FIRST_MS = 60_000;
const SETTINGS = {
  providerTimeoutMs: TIMEOUT_MS,
  providerQuestions: QUESTIONS,
  callbackBudgetMs: 100,
  sweepAfterMs: [FIRST_MS, 4 * 3_600_000],
};
const HUNG_SLOTS = ['hung-one', 'hung-two', 'hung-three'];

describe('a provider that hangs', function () {
  this.timeout(3 * TIMEOUT_MS);
  let payments: Payments;
  /** In front of the slots that hang. */
  let hung: ProviderTap;
  let beside: TestHub;
  let aheadMs: number;
  const clock = () => new Date(Date.now() + aheadMs);

  before(async () => {
    aheadMs = 0;
    payments = await startPayments({ settings: SETTINGS, clock });
    hung = await startProviderTap(payments.simulator.url);
    for (const name of [...HUNG_SLOTS, 'hung-last']) {
      await payments.admin.addSlot({
        name,
        gateway: 'gateway_one',
        environment: SlotEnvironment.SANDBOX,
        baseUrl: `${hung.url}/gateway_one`,
        credentials: payments.simulator.credentials.gateway_one,
      });
    }
    beside = await startHub({ beside: payments.hub, settings: { ...SETTINGS, retryDelaySeconds: 1 }, clock });
  });
  afterEach(async () => {
    hung.release();
    await until(() => hung.held() === 0, 'nothing hangs any more');
  });
  after(async () => {
    await hung.close();
    await payments.stop();
  });

  const createAt = async (slot: string) => {
    const { session } = await payments.sessions.createChargeSession({
      slot,
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      orderReference: 'ORD-1',
    });
    return session ?? expect.fail('no session was created');
  };
  const createMany = (slot: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => createAt(slot)));
  const claim = (session: Awaited<ReturnType<typeof createAt>>, proof = '') =>
    callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
  /** Neither the validation nor the query of a session is answered, so often. */
  const breakAnswers = (ref: string, times: number): void => {
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
      payments.simulator.faults.add({ kind: 'error_500', operation, ref, times });
    }
  };
  /** Until each slot has as many questions as it may have. */
  const untilFull = (questions: number) =>
    until(() => hung.held() >= questions, 'the slots that hang are full');

  it('at three slots does not delay the retry of a callback at another slot', async () => {
    const sessions = (await Promise.all(HUNG_SLOTS.map((slot) => createMany(slot, 20)))).flat();
    const session = await createSession(payments, 'gateway_one');
    for (const { providerPaymentId } of sessions) {
      breakAnswers(providerPaymentId, 1_000);
    }
    await Promise.all(sessions.map((each) => claim(each, payQuietly(payments, each))));
    // From now on it is the retries that hang.
    hung.hold();
    await untilFull(HUNG_SLOTS.length * QUESTIONS);
    const ref = session.providerPaymentId;
    breakAnswers(ref, 1);
    await claim(session, payQuietly(payments, session));
    expect(await statusOf(payments, session)).to.equal('pending');
    await untilStatus(payments, session, 'success', SOON_MS);
    expect((await journal(payments, session))[0]).to.include({ state: 'settled' });
  });

  it('does not delay the sweep of another slot, at two hubs', async () => {
    await Promise.all(HUNG_SLOTS.map((slot) => createMany(slot, 30)));
    const session = await createSession(payments, 'gateway_one');
    payQuietly(payments, session);
    hung.hold();
    // What hangs has been due for longer.
    await query(
      payments.hub.databaseUrl,
      `update charge_session set next_check_at = next_check_at - interval '1 minute'
       where slot_id in (select id from slot where name = any($1))`,
      [HUNG_SLOTS],
    );
    await untilFull(HUNG_SLOTS.length * QUESTIONS);
    aheadMs += FIRST_MS;
    await untilStatus(payments, session, 'success', SOON_MS);
    expect(hung.held()).to.equal(HUNG_SLOTS.length * QUESTIONS);
  });

  it('for one session with many callbacks does not delay another session of its slot', async () => {
    const [flooded, session] = [
      await createSession(payments, 'gateway_one'),
      await createSession(payments, 'gateway_one'),
    ];
    const hang = { kind: 'timeout_before', ref: flooded.providerPaymentId, times: 1_000 } as const;
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
      payments.simulator.faults.add({ ...hang, operation });
    }
    await Promise.all(Array.from({ length: 100 }, () => claim(flooded)));
    const ref = session.providerPaymentId;
    payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.validate', ref });
    await claim(session, payQuietly(payments, session));
    await untilStatus(payments, session, 'success', SOON_MS);
  });

  it('is asked once for all callbacks of a session', async () => {
    const session = await createAt('hung-one');
    const proof = payQuietly(payments, session);
    hung.hold();
    await Promise.all(Array.from({ length: 30 }, () => claim(session, proof)));
    const states = async () => (await journal(payments, session)).map(({ state }) => state);
    await until(async () => (await states()).length === 30, 'all wait for the session');
    hung.release();
    await untilStatus(payments, session, 'success', SOON_MS);
    await until(async () => (await states()).every((state) => state === 'settled'), 'all are settled');
    // The one that hung, and one for those that came meanwhile, had it not found the payment.
    expect((await inspect(payments, session)).verifications.length).to.be.at.most(2);
  });

  it('does not delay the stop of a hub, and another hub continues', async () => {
    const sessions = await createMany('hung-last', QUESTIONS);
    for (const session of sessions) payQuietly(payments, session);
    hung.hold();
    aheadMs += FIRST_MS;
    const asking = `select from charge_session c join slot s on s.id = c.slot_id
      where s.name = 'hung-last' and c.verifying_until > now()`;
    const { databaseUrl } = payments.hub;
    await until(async () => (await query(databaseUrl, asking)).length === QUESTIONS, 'both hubs ask');
    const stopping = performance.now();
    await beside.stop();
    expect(performance.now() - stopping).to.be.lessThan(SOON_MS);
    hung.release();
    for (const session of sessions) await untilStatus(payments, session, 'success', SOON_MS);
  });
});
