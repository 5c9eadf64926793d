import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { ChargeStatus } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  createSession,
  GATEWAYS,
  inspect,
  type Payments,
  SLOTS,
  startPayments,
  statusOf,
} from '../../../support/hub/payment.ts';
import { refusal } from '../refusal.ts';

const AMOUNT = { minorUnits: 10_000n, currency: 'BDT' };

describe('a charge session', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  after(() => payments.stop());

  for (const gateway of GATEWAYS) {
    it(`is created at ${gateway} with a checkout and the hub's own callback address`, async () => {
      const { session } = await payments.sessions.createChargeSession({
        slot: SLOTS[gateway],
        amount: { minorUnits: 12_345n, currency: 'BDT' },
        orderReference: 'ORD-7',
        customer: { name: 'Ada Lovelace', phone: '01700000000' },
        metadata: { cart: '42' },
      });
      if (session === undefined) return expect.fail('no session');
      expect(session).to.include({
        slot: SLOTS[gateway],
        gateway,
        status: ChargeStatus.PENDING,
        orderReference: 'ORD-7',
        gatewayTransactionId: '',
      });
      expect(session.sessionId).to.match(/^chs_[0-9a-z]{26}$/);
      expect(session.merchantTransactionId).to.match(/^[0-9A-Z]{1,30}$/);
      expect(session.amount).to.include({ minorUnits: 12_345n, currency: 'BDT' });
      expect(session.customer).to.include({ name: 'Ada Lovelace', phone: '01700000000', email: '' });
      expect(session.metadata).to.deep.equal({ cart: '42' });
      expect(session.checkoutUrl).to.match(/^http/);

      const payment = payments.simulator.payments().find(({ ref }) => ref === session.providerPaymentId);
      expect(payment).to.deep.include({
        gateway,
        merchantTransactionId: session.merchantTransactionId,
        amount: { minor: 12_345n, currency: 'BDT' },
      });
      payments.simulator.cancel(session.providerPaymentId);
      await payments.simulator.idle();
      const { url, status } = payments.simulator.deliveries().at(-1) ?? expect.fail('no callback');
      expect(url).to.contain(
        `${payments.hub.gatewayUrl}/v1/webhooks/${gateway}?session_id=${session.sessionId}`,
      );
      expect(status).to.equal(200);
      expect(await statusOf(payments, session)).to.equal('cancelled');
    });
  }

  it('is returned by its id, as it was created', async () => {
    const created = await createSession(payments, 'gateway_one');
    const { session } = await payments.sessions.getChargeSession({ sessionId: created.sessionId });
    expect(session).to.deep.equal(created);
    for (const sessionId of ['chs_01k0000000000000000000000', 'nonsense']) {
      const refused = { code: 'session_unknown', field: 'sessionId' };
      expect(await refusal(payments.sessions.getChargeSession({ sessionId }))).to.include(refused);
      expect(await refusal(payments.sessions.inspectChargeSession({ sessionId }))).to.include(refused);
      expect(await refusal(payments.sessions.recheckChargeSession({ sessionId }))).to.include(refused);
      expect(await refusal(firstOf(payments.sessions.watchChargeSession({ sessionId })))).to.include(refused);
    }
  });

  it('is not created for an unknown slot or an invalid amount', async () => {
    const create = (changes: object) =>
      refusal(
        payments.sessions.createChargeSession({
          slot: 'store',
          amount: AMOUNT,
          orderReference: 'ORD-1',
          ...changes,
        }),
      );
    expect(await create({ slot: 'nowhere' })).to.include({ code: 'slot_unknown', field: 'slot' });
    for (const [minorUnits, currency, field] of [
      [0n, 'BDT', 'amount'],
      [-1n, 'BDT', 'amount'],
      [100n, 'XXX', 'amount.currency'],
      [100n, 'bdt', 'amount.currency'],
    ] as const) {
      const amount = { minorUnits, currency };
      expect(await create({ amount }), `${minorUnits} ${currency}`).to.include({
        code: 'amount_invalid',
        field,
      });
    }
  });

  it('fails with the reason if the provider refuses it', async () => {
    const orderReference = 'ORD-REFUSED';
    const amount = { minorUnits: 10_000_000_000_000n, currency: 'JPY' };
    const reason = 'the provider refused the checkout: 2006 Invalid Amount';
    const refused = await refusal(
      payments.sessions.createChargeSession({ slot: 'wallet', amount, orderReference }),
    );
    expect(refused).to.include({ code: 'provider_refused', message: `slot wallet: ${reason}` });
    const { sessions } = await payments.sessions.listChargeSessions({ orderReference });
    expect(sessions).to.have.length(1);
    expect(sessions[0]).to.include({ status: ChargeStatus.FAILED, statusReason: reason, checkoutUrl: '' });
  });

  it('is listed once, newest first, page by page', async () => {
    const created: string[] = [];
    for (let index = 0; index < 7; index++) {
      const { session } = await payments.sessions.createChargeSession({
        slot: 'store',
        amount: AMOUNT,
        orderReference: 'ORD-PAGES',
      });
      created.unshift(session?.sessionId ?? '');
    }
    const listed: string[] = [];
    let pageToken = '';
    do {
      const page = await payments.sessions.listChargeSessions({
        orderReference: 'ORD-PAGES',
        pageSize: 3,
        pageToken,
      });
      expect(page.sessions.length).to.be.at.most(3);
      listed.push(...page.sessions.map(({ sessionId }) => sessionId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).to.deep.equal(created);
    expect(await refusal(payments.sessions.listChargeSessions({ pageToken: 'nonsense' }))).to.include({
      code: 'page_token_invalid',
    });
  });

  it('is listed by slot, status, order reference and time of creation', async () => {
    const mine = await createSession(payments, 'gateway_one');
    const other = await createSession(payments, 'gateway_two');
    const ids = async (filter: Parameters<Payments['sessions']['listChargeSessions']>[0]) =>
      (await payments.sessions.listChargeSessions(filter)).sessions.map(({ sessionId }) => sessionId);
    expect(await ids({ slot: 'store' }))
      .to.include(mine.sessionId)
      .and.not.include(other.sessionId);
    expect(await ids({ status: ChargeStatus.PENDING })).to.include.members([mine.sessionId, other.sessionId]);
    expect(await ids({ status: ChargeStatus.SUCCESS })).to.not.include(mine.sessionId);
    expect(await ids({ orderReference: 'ORD-1' })).to.include(mine.sessionId);
    expect(await ids({ orderReference: 'ORD' })).to.deep.equal([]);
    const created = timestampDate(other.createdAt ?? expect.fail('no time of creation'));
    const from = timestampFromDate(created);
    const later = timestampFromDate(new Date(created.getTime() + 1));
    expect(await ids({ createdFrom: from })).to.include(other.sessionId);
    expect(await ids({ createdFrom: later })).to.not.include(other.sessionId);
    expect(await ids({ createdTo: later })).to.include(other.sessionId);
    expect(await ids({ createdTo: from })).to.not.include(other.sessionId);
    expect(await refusal(payments.sessions.listChargeSessions({ slot: 'nowhere' }))).to.include({
      code: 'slot_unknown',
    });
  });

  it('without a callback has a history of only itself and its checkout', async () => {
    const session = await createSession(payments, 'gateway_one');
    const history = await inspect(payments, session);
    expect(history.session).to.deep.equal(session);
    expect(history.callbacks).to.deep.equal([]);
    expect(history.verifications.map(({ operation, detail }) => [operation, detail])).to.deep.equal([
      ['initiate', 'the provider created a checkout'],
    ]);
    expect(history.usageLog).to.equal(undefined);
  });

  it('cannot be listed by invalid times', async () => {
    for (const time of [
      { seconds: 253_402_300_799n, nanos: 999_900_000 },
      { seconds: -62_135_596_900n, nanos: 0 },
      { seconds: 10n ** 18n, nanos: 0 },
    ]) {
      const listed = payments.sessions
        .listChargeSessions({ createdFrom: time })
        .catch((error) => error.message);
      expect(await listed).to.match(/createdFrom: must be a time of the years 1 to 9999/);
    }
  });
});

async function firstOf<T>(stream: AsyncIterable<T>): Promise<T | undefined> {
  for await (const each of stream) return each;
  return undefined;
}
