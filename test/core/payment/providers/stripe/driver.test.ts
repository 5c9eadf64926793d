// Stripe's driver against a provider on a socket: the requests of the official package, and the results of the answers.
import { expect } from 'chai';
import {
  CallbackMalformed,
  ProviderRefused,
  ProviderUnavailable,
} from '../../../../../core/payment/providers/driver.ts';
import { stripe } from '../../../../../core/payment/providers/stripe/driver.ts';
import {
  hangUp,
  json,
  raw,
  type ScriptedProvider,
  silence,
  startScriptedProvider,
} from '../scripted-provider.ts';
import {
  createTestAccess,
  expectedPayment,
  rejectionOf,
  settledPayment,
  type TestAccess,
} from '../test-access.ts';
import { signEvent, WEBHOOK_SECRET } from './sign-event.ts';

const SESSIONS = '/stripe/v1/checkout/sessions';
const KEY = 'sk_test_secret_7';
const SESSION = 'chs_01k8e7qk3vf2tb5s0w9m4x6ydz';
const created = Math.floor(Date.now() / 1000);

describe('stripe', () => {
  let provider: ScriptedProvider;
  let access: TestAccess;
  beforeEach(async () => {
    provider = await startScriptedProvider();
    access = createTestAccess({
      baseUrl: `${provider.url}/stripe`,
      credentials: { secretKey: KEY, webhookSecret: WEBHOOK_SECRET },
      timeoutMs: 1_500,
    });
  });
  afterEach(async () => {
    await provider.close();
    await access.http.close();
  });

  const session = (changes = {}) => ({
    id: 'cs_1',
    object: 'checkout.session',
    amount_total: 10_000,
    currency: 'bdt',
    status: 'complete',
    payment_status: 'paid',
    payment_intent: { id: 'pi_1', object: 'payment_intent', status: 'succeeded' },
    metadata: { hub_session: SESSION, hub_transaction: '01K7TRANSACTION' },
    created,
    ...changes,
  });
  const complaint = (type: string, message = 'no') => ({ error: { type, message } });

  describe('a checkout', () => {
    const request = {
      sessionId: SESSION,
      merchantTransactionId: '01K7TRANSACTION',
      amount: { minor: 10_000n, currency: 'BDT' },
      callbackUrl: 'https://hub.example/v1/webhooks/stripe',
      browserUrl: `https://hub.example/v1/return/${SESSION}`,
      orderReference: 'ORD-1',
      customer: { email: 'ada@example.com' },
    };
    const create = (changes = {}) => stripe.createCheckout(access, { ...request, ...changes });

    it('is a checkout session with the ids of the hub, under an idempotency key', async () => {
      provider.on(SESSIONS, json({ id: 'cs_1', url: 'https://checkout.stripe.example/cs_1' }));
      expect(await create()).to.deep.equal({
        providerPaymentId: 'cs_1',
        checkoutUrl: 'https://checkout.stripe.example/cs_1',
      });
      await create();
      await create({ orderReference: 'ORD-2' });
      const [first, again, other] = provider.received;
      expect(first?.headers).to.include({ authorization: `Bearer ${KEY}` });
      expect(Object.fromEntries(new URLSearchParams(first?.body))).to.deep.equal({
        mode: 'payment',
        client_reference_id: SESSION,
        'metadata[hub_session]': SESSION,
        'metadata[hub_transaction]': '01K7TRANSACTION',
        'payment_intent_data[metadata][hub_session]': SESSION,
        'payment_intent_data[metadata][hub_transaction]': '01K7TRANSACTION',
        'line_items[0][quantity]': '1',
        'line_items[0][price_data][currency]': 'bdt',
        'line_items[0][price_data][unit_amount]': '10000',
        'line_items[0][price_data][product_data][name]': 'ORD-1',
        customer_email: 'ada@example.com',
        success_url: request.browserUrl,
        cancel_url: request.browserUrl,
      });
      const keys = [first, again, other].map((each) => each?.headers['idempotency-key']);
      expect(keys[0])
        .to.match(new RegExp(`^${SESSION}-`))
        .and.equal(keys[1])
        .and.not.equal(keys[2]);
    });

    it('is refused by an error of the request, and unanswered otherwise; the package repeats no call', async () => {
      const cases = [
        [
          json(complaint('invalid_request_error', `Invalid email ada@example.com for ${KEY}`), 400),
          ProviderRefused,
        ],
        [json(complaint('invalid_request_error'), 401), ProviderRefused],
        [json(complaint('idempotency_error'), 400), ProviderUnavailable],
        [json(complaint('invalid_request_error'), 409), ProviderUnavailable],
        [json(complaint('api_error'), 500), ProviderUnavailable],
        [json({ message: 'no' }, 500), ProviderUnavailable],
        [json(complaint('invalid_request_error'), 200), ProviderUnavailable],
        [json({ id: 'cs_1', url: 'javascript:alert(1)' }), ProviderUnavailable],
        [raw(302, ''), ProviderUnavailable],
        [raw(200, '<html>'), ProviderUnavailable],
        [raw(200, ''), ProviderUnavailable],
        [hangUp, ProviderUnavailable],
        [silence, ProviderUnavailable],
      ] as const;
      for (const [index, [answer, type]] of cases.entries()) {
        provider.on(SESSIONS, answer);
        const error = await rejectionOf(create());
        expect(error, `${index}: ${error}`).to.be.instanceOf(type);
        expect(error.message).not.to.match(/sk_test|ada@/);
      }
      expect(provider.received).to.have.length(cases.length);
    });
  });

  describe('a verification', () => {
    const verify = (changes = {}) =>
      stripe.verify(access, expectedPayment({ providerPaymentId: 'cs_1', ...changes }));
    const verdictOn = (changes = {}) => {
      provider.on(`${SESSIONS}/cs_1`, json(session(changes)));
      return verify();
    };

    it('reports what the vendor receives, once Stripe has booked the payment', async () => {
      const booked = (balance_transaction: unknown) =>
        verdictOn({
          payment_intent: { id: 'pi_1', latest_charge: { id: 'ch_1', balance_transaction } },
        });
      expect(await booked({ net: 9_700, currency: 'bdt' })).to.deep.include({
        kind: 'paid',
        received: { minor: 9_700n, currency: 'BDT' },
      });
      for (const unreadable of [
        null,
        'txn_1',
        { net: -5, currency: 'bdt' },
        { net: 97, currency: 'x' },
        {},
      ]) {
        expect(await booked(unreadable))
          .to.include({ kind: 'paid' })
          .and.not.have.property('received');
      }
      expect(provider.received.at(-1)?.query.get('expand[0]')).to.contain(
        'latest_charge.balance_transaction',
      );
    });

    it('is decided by the checkout session: id, amount, currency and payment status', async () => {
      expect(await verdictOn()).to.include({ kind: 'paid', gatewayTransactionId: 'pi_1' });
      for (const wrong of [
        { id: 'cs_2' },
        { metadata: { hub_transaction: 'OTHER' } },
        { amount_total: 9_999 },
        { currency: 'usd' },
      ]) {
        expect((await verdictOn(wrong)).kind, JSON.stringify(wrong)).to.equal('mismatch');
      }
      expect(await verdictOn({ status: 'expired', payment_status: 'unpaid' })).to.include({
        kind: 'not_paid',
        status: 'cancelled',
      });
    });

    it('waits a month for a bank, and a day for a customer', async () => {
      const day = 86_400_000;
      const untilOf = async (changes: object) => {
        const verdict = await verdictOn({ payment_status: 'unpaid', ...changes });
        return verdict.kind === 'pending' ? (verdict.until?.getTime() ?? 0) - created * 1000 : verdict;
      };
      expect(await untilOf({ payment_intent: { id: 'pi_1', status: 'processing' } })).to.equal(30 * day);
      expect(await untilOf({ status: 'open', payment_intent: null })).to.equal(25 * 3_600_000);
      const failed = { id: 'pi_1', status: 'requires_payment_method' };
      expect(await untilOf({ payment_intent: failed })).to.include({ kind: 'not_paid', status: 'failed' });
    });

    it('learns nothing from refusals, errors and unreadable sessions', async () => {
      for (const answer of [
        json(complaint('invalid_request_error', 'No such session'), 404),
        json(complaint('invalid_request_error'), 401),
        json(session({ status: 'new' })),
        json(session({ payment_intent: null })),
        json(session({ amount_total: '10000' })),
        raw(200, '[]'),
      ]) {
        provider.on(`${SESSIONS}/cs_1`, answer);
        expect(await rejectionOf(verify())).to.be.instanceOf(ProviderUnavailable);
      }
    });
  });

  it('refunds parts of a payment under the hub’s reference, and lists refunds and disputes', async () => {
    const payment = settledPayment({ providerPaymentId: 'cs_1', gatewayTransactionId: 'pi_1' });
    const refund = (changes = {}) => ({
      id: 're_1',
      amount: 3_050,
      currency: 'bdt',
      status: 'succeeded',
      metadata: { hub_refund: 'rfd_1' },
      ...changes,
    });
    const dispute = (changes = {}) => ({
      id: 'dp_1',
      amount: 10_000,
      currency: 'bdt',
      reason: 'fraudulent',
      ...changes,
    });
    const amount = { minor: 3_050n, currency: 'BDT' };
    provider.on('/stripe/v1/refunds', json(refund()));
    const asked = { payment, reference: 'rfd_1', amount, reason: 'broken' };
    expect(await stripe.refunds?.request(access, asked)).to.deep.include({
      kind: 'refund',
      gatewayRefundId: 're_1',
      reference: 'rfd_1',
      amount,
      state: 'succeeded',
    });
    expect(provider.received[0]?.headers['idempotency-key']).to.equal('rfd_1');
    const list = (...data: object[]) => json({ object: 'list', data, has_more: false, url: '/v1' });
    provider.on(
      '/stripe/v1/refunds',
      list(refund({ id: 're_2', status: 'pending', metadata: {} }), refund()),
    );
    provider.on(
      '/stripe/v1/disputes',
      list(
        dispute({ id: 'dp_4', status: 'warning_needs_response' }),
        dispute({ id: 'dp_3', status: 'won' }),
        dispute({ id: 'dp_2', status: 'lost' }),
        dispute({ status: 'needs_response' }),
      ),
    );
    const found = await stripe.refunds?.find(access, { payment, requested: [] });
    expect(found?.isReversed).to.equal(false);
    expect(
      found?.refunds.map(({ kind, gatewayRefundId, state }) => [kind, gatewayRefundId, state]),
    ).to.deep.equal([
      ['refund', 're_1', 'succeeded'],
      ['refund', 're_2', 'pending'],
      ['dispute', 'dp_1', 'pending'],
      ['dispute', 'dp_2', 'succeeded'],
      ['dispute', 'dp_3', 'failed'],
    ]);
    provider.on('/stripe/v1/refunds', json(complaint('invalid_request_error', 'already refunded'), 400));
    expect(await rejectionOf(stripe.refunds?.request(access, asked) ?? Promise.resolve())).to.be.instanceOf(
      ProviderRefused,
    );
  });

  it('tests the secret key and the form of the webhook secret', async () => {
    provider.on(SESSIONS, json({ object: 'list', data: [] }));
    expect((await stripe.testCredentials(access)).detail).to.contain('accepts');
    const wrong = createTestAccess({
      baseUrl: access.baseUrl,
      credentials: { secretKey: KEY, webhookSecret: KEY },
    });
    expect((await rejectionOf(stripe.testCredentials(wrong))).message).to.contain('whsec_');
    await wrong.http.close();
  });

  describe('an event', () => {
    const open = (
      event: object | string,
      { at = new Date(), secret = WEBHOOK_SECRET, receivedAt = new Date() } = {},
    ) => {
      const body = typeof event === 'string' ? event : JSON.stringify(event);
      const headers = { 'stripe-signature': signEvent(body, { secret, at }) };
      return stripe.callback.signed?.open(
        { body: Buffer.from(body), headers, receivedAt },
        access.credentials,
      );
    };
    const completed = {
      id: 'evt_1',
      type: 'checkout.session.completed',
      data: {
        object: {
          ...session({ payment_intent: 'pi_1' }),
          client_reference_id: SESSION,
          customer_details: { email: 'ada@example.com', name: 'Ada' },
        },
      },
    };

    it('is read into ids, without personal data', async () => {
      expect(await open(completed)).to.deep.equal({
        sessionId: SESSION,
        fields: {
          event: 'evt_1',
          type: 'checkout.session.completed',
          checkout_session: 'cs_1',
          transaction: '01K7TRANSACTION',
          payment_status: 'paid',
          payment_intent: 'pi_1',
        },
      });
      const personal = { ...completed.data.object, metadata: {}, client_reference_id: 'ada@example.com' };
      const opened = await open({ ...completed, data: { object: personal } });
      expect(JSON.stringify(opened)).not.to.contain('ada');
    });

    it('names no session by client_reference_id, which the customer of a payment link can set', async () => {
      const object = { ...completed.data.object, metadata: {}, client_reference_id: SESSION };
      expect(await open({ ...completed, data: { object } })).not.to.have.property('sessionId');
    });

    it('needs a signature of the slot that is at most five minutes old', async () => {
      expect(await open(completed, { secret: 'whsec_other' })).to.equal(undefined);
      const minutes = (count: number) => new Date(Date.now() - count * 60_000);
      expect(await open(completed, { at: minutes(4) })).to.be.an('object');
      for (const work of [
        open(completed, { at: minutes(6) }),
        open('{'),
        open('[]'),
        open({ id: 'evt_1' }),
      ]) {
        expect(await rejectionOf(work ?? Promise.resolve())).to.be.instanceOf(CallbackMalformed);
      }
    });

    it('claims what its type says', () => {
      const cases = [
        ['checkout.session.completed', 'paid', 'paid'],
        ['checkout.session.completed', 'unpaid', 'unknown'],
        ['checkout.session.async_payment_succeeded', 'paid', 'paid'],
        ['checkout.session.async_payment_failed', 'unpaid', 'failed'],
        ['checkout.session.expired', 'unpaid', 'cancelled'],
        ['customer.created', '', 'ignored'],
      ];
      for (const [type = '', payment_status = '', outcome] of cases) {
        const claim = stripe.readCallback({ type, payment_status, checkout_session: 'cs_1' });
        expect(claim, type).to.deep.equal({ outcome, status: type, providerPaymentId: 'cs_1' });
      }
      for (const type of ['charge.refunded', 'refund.failed', 'charge.dispute.closed']) {
        const claim = { outcome: 'refunded', status: type, paymentProof: 'pi_1' };
        expect(stripe.readCallback({ type, payment_intent: 'pi_1' })).to.deep.equal(claim);
      }
      expect(() => stripe.readCallback({})).to.throw(CallbackMalformed);
    });
  });
});
