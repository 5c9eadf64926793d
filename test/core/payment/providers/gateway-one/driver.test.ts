// gateway_one against a provider on a socket: its requests, and the results of the answers.
import { expect } from 'chai';
import {
  CallbackMalformed,
  ProviderRefused,
  ProviderUnavailable,
} from '../../../../../core/payment/providers/driver.ts';
import { gatewayOne } from '../../../../../core/payment/providers/gateway-one/driver.ts';
import { transaction } from '../sample-answers.ts';
import {
  hangUp,
  json,
  raw,
  type Scripted,
  type ScriptedProvider,
  silence,
  startScriptedProvider,
} from '../scripted-provider.ts';
import { createTestAccess, expectedPayment, rejectionOf, type TestAccess } from '../test-access.ts';

const INITIATE = '/base/gwprocess/v4/api.php';
const VALIDATE = '/base/validator/api/validationserverAPI.php';
const QUERY = '/base/validator/api/merchantTransIDvalidationAPI.php';
const VAL_ID = '2611211200001zTk5W3rlDPbwn4';

describe('gateway_one', () => {
  let provider: ScriptedProvider;
  let access: TestAccess;

  beforeEach(async () => {
    provider = await startScriptedProvider();
    access = createTestAccess({
      baseUrl: `${provider.url}/base/`,
      credentials: { storeId: 'store-7', storePassword: 'p&ss=w#rd' },
      timeoutMs: 1_000,
    });
  });
  afterEach(async () => {
    await provider.close();
    await access.http.close();
  });

  const found = (...element: unknown[]): Scripted =>
    json({ APIConnect: 'DONE', no_of_trans_found: String(element.length), element });
  const verify = (changes = {}) =>
    gatewayOne.verify(access, expectedPayment({ validationId: VAL_ID, ...changes }));
  const paths = () => provider.received.map(({ path }) => path);
  const outcomes = () => access.steps.map(({ operation, outcome }) => [operation, outcome]);

  describe('verifying a session', () => {
    it('validates the id of the callback, encoded in the query', async () => {
      provider.on(VALIDATE, json(transaction()));
      const validationId = 'a&tran_id=X#frag%20é';
      expect((await verify({ validationId })).kind).to.equal('paid');
      const [received] = provider.received;
      expect(received?.method).to.equal('GET');
      expect(Object.fromEntries(received?.query ?? [])).to.deep.equal({
        val_id: validationId,
        store_id: 'store-7',
        store_passwd: 'p&ss=w#rd',
        v: '1',
        format: 'json',
      });
    });

    it('accepts VALIDATED in the first answer', async () => {
      provider.on(VALIDATE, json(transaction({ status: 'VALIDATED' })));
      expect(await verify()).to.include({ kind: 'paid', gatewayTransactionId: VAL_ID });
    });

    it('queries its own transaction id without a validation id', async () => {
      provider.on(QUERY, found(transaction({ status: 'FAILED' }), transaction()));
      expect(await gatewayOne.verify(access, expectedPayment())).to.include({
        kind: 'paid',
        gatewayTransactionId: VAL_ID,
      });
      expect(provider.received[0]?.query.get('tran_id')).to.equal('01K7TRANSACTION');
    });

    it('does not settle by the validation id of another session', async () => {
      provider.on(VALIDATE, json(transaction({ tran_id: '01K7ANOTHER' })));
      provider.on(QUERY, found(transaction({ status: 'PENDING' })));
      expect((await verify()).kind).to.equal('mismatch');
    });

    it('settles a real payment despite a forged validation id', async () => {
      provider.on(VALIDATE, json({ APIConnect: 'DONE', status: 'INVALID_TRANSACTION' }));
      provider.on(QUERY, found(transaction()));
      expect(await verify({ validationId: 'forged' })).to.include({
        kind: 'paid',
        gatewayTransactionId: VAL_ID,
      });
      expect(outcomes()).to.deep.equal([
        ['validate', 'mismatch'],
        ['query', 'paid'],
      ]);
    });

    it('reports a forged validation id, and nothing about the session', async () => {
      provider.on(VALIDATE, json({ APIConnect: 'DONE', status: 'INVALID_TRANSACTION' }));
      provider.on(QUERY, found());
      expect((await verify({ validationId: 'forged' })).kind).to.equal('mismatch');
    });

    it('does not settle by a different amount or currency', async () => {
      for (const changes of [{ currency_amount: '10.00' }, { currency_type: 'USD' }]) {
        provider.on(VALIDATE, json(transaction(changes)));
        provider.on(QUERY, found(transaction(changes)));
        expect((await verify()).kind, JSON.stringify(changes)).to.equal('mismatch');
      }
    });

    it('only queries a paid session for a reversal', async () => {
      provider.on(QUERY, found(transaction()), found(transaction({ status: 'REFUNDED' })), found());
      expect((await verify({ isPaid: true })).kind).to.equal('paid');
      expect((await verify({ isPaid: true })).kind).to.equal('reversed');
      expect((await verify({ isPaid: true })).kind).to.equal('pending');
      expect(new Set(paths())).to.deep.equal(new Set([QUERY]));
    });

    const troubles: Record<string, Scripted> = {
      'HTTP 500': raw(500, JSON.stringify(transaction())),
      'HTTP 404': raw(404, JSON.stringify(transaction())),
      HTML: raw(200, '<html>Maintenance</html>'),
      'an empty body': raw(200, ''),
      'JSON that is cut off': raw(200, JSON.stringify(transaction()).slice(0, -20)),
      'a redirect': (response) => response.writeHead(302, { location: VALIDATE }).end(),
      'a hang-up': hangUp,
      silence,
      'a complaint about the credentials': json({ APIConnect: 'FAILED' }),
      'an account that is closed': json({ APIConnect: 'INACTIVE' }),
    };
    for (const [what, answer] of Object.entries(troubles)) {
      it(`is inconclusive after ${what}`, async () => {
        provider.on(VALIDATE, answer);
        provider.on(QUERY, answer);
        expect(await rejectionOf(verify())).to.be.instanceOf(ProviderUnavailable);
        expect(await rejectionOf(verify({ validationId: undefined }))).to.be.instanceOf(ProviderUnavailable);
        expect(outcomes()).to.deep.equal([
          ['validate', 'unavailable'],
          ['query', 'unavailable'],
          ['query', 'unavailable'],
        ]);
      });

      it(`queries its own transaction id after ${what} of the validation API`, async () => {
        provider.on(VALIDATE, answer);
        provider.on(QUERY, found(transaction({ status: 'FAILED' }), transaction()), found());
        expect(await verify({ validationId: 'forged' })).to.include({
          kind: 'paid',
          gatewayTransactionId: VAL_ID,
        });
        // A true id may be ahead of the query: its callback waits for another answer.
        expect(await rejectionOf(verify())).to.be.instanceOf(ProviderUnavailable);
        expect(paths()).to.deep.equal([VALIDATE, QUERY, VALIDATE, QUERY]);
      });
    }

    it('does not validate the id that the query found: it makes two calls at most', async () => {
      provider.on(VALIDATE, json({ APIConnect: 'DONE', status: 'INVALID_TRANSACTION' }));
      provider.on(QUERY, found(transaction()));
      expect((await verify({ validationId: 'forged' })).kind).to.equal('paid');
      expect(paths()).to.deep.equal([VALIDATE, QUERY]);
    });

    it("reports the provider's risk level, if any", async () => {
      for (const [told, risk] of [
        [
          { risk_level: '1', risk_title: 'High Risk' },
          { level: 1, title: 'High Risk' },
        ],
        [
          { risk_level: 0, risk_title: 'Safe' },
          { level: 0, title: 'Safe' },
        ],
        [
          { risk_level: '1', risk_title: 'p&ss=w#rd' },
          { level: 1, title: '***' },
        ],
        [
          { risk_level: '1', risk_title: ['?'] },
          { level: 1, title: '' },
        ],
        [{ risk_level: 'high' }, undefined],
        [{ risk_level: '' }, undefined],
        [{ risk_level: null, risk_title: null }, undefined],
      ] as const) {
        provider.on(VALIDATE, json(transaction(told)));
        const verdict = await verify();
        expect(verdict.kind === 'paid' && verdict.risk, JSON.stringify(told)).to.deep.equal(risk);
      }
    });

    it("records the duration of the provider's answer", async () => {
      provider.on(VALIDATE, (response, received) => {
        setTimeout(() => json(transaction())(response, received), 30);
      });
      const before = Date.now();
      await verify();
      const [step] = access.steps;
      expect(step).to.include({
        operation: 'validate',
        outcome: 'paid',
        detail: 'the provider says VALID: 100.00 BDT',
      });
      expect(step?.durationMs)
        .to.be.at.least(25)
        .and.at.most(Date.now() - before + 1);
      expect(step?.askedAt).to.be.instanceOf(Date);
    });
  });

  describe('creating a checkout', () => {
    const checkout = {
      sessionId: 'chs_01k7',
      merchantTransactionId: '01K7TRANSACTION',
      amount: { minor: 10_050n, currency: 'BDT' },
      callbackUrl: 'https://hub.example/v1/webhooks/gateway_one?session_id=chs_01k7',
      orderReference: 'ORD & 1',
      customer: { name: 'Ärzte GmbH', phone: '+880 1' },
    } as const;
    const create = () => gatewayOne.createCheckout(access, checkout);

    it('posts a form with all fields that the provider requires', async () => {
      provider.on(
        INITIATE,
        json({ status: 'SUCCESS', sessionkey: 'SK1', GatewayPageURL: 'https://pay.example/c' }),
      );
      expect(await create()).to.deep.equal({
        providerPaymentId: 'SK1',
        checkoutUrl: 'https://pay.example/c',
      });
      const [received] = provider.received;
      expect(received).to.include({ method: 'POST', path: INITIATE });
      expect(received?.headers['content-type']).to.equal('application/x-www-form-urlencoded');
      const form = Object.fromEntries(new URLSearchParams(received?.body));
      expect(form).to.include({
        store_id: 'store-7',
        store_passwd: 'p&ss=w#rd',
        total_amount: '100.50',
        currency: 'BDT',
        tran_id: '01K7TRANSACTION',
        ipn_url: checkout.callbackUrl,
        success_url: checkout.callbackUrl,
        product_name: 'ORD & 1',
        shipping_method: 'NO',
        cus_name: 'Ärzte GmbH',
        cus_phone: '+880 1',
      });
      const insisted = [
        'fail_url',
        'cancel_url',
        'product_category',
        'product_profile',
        'num_of_item',
        'cus_email',
      ];
      for (const name of [...insisted, 'cus_add1', 'cus_city', 'cus_postcode', 'cus_country']) {
        expect(form[name], name).to.match(/\S/);
      }
    });

    it('has the browser return to an address of its own', async () => {
      provider.on(
        INITIATE,
        json({ status: 'SUCCESS', sessionkey: 'SK1', GatewayPageURL: 'https://pay.example/c' }),
      );
      const browserUrl = 'https://hub.example/v1/return/chs_01k7';
      await gatewayOne.createCheckout(access, { ...checkout, browserUrl });
      expect(Object.fromEntries(new URLSearchParams(provider.received.at(-1)?.body))).to.include({
        ipn_url: checkout.callbackUrl,
        success_url: browserUrl,
        fail_url: browserUrl,
        cancel_url: browserUrl,
      });
    });

    it('reports a refusal, or no answer', async () => {
      provider.on(
        INITIATE,
        json({ status: 'FAILED', failedreason: 'Store is De-active' }),
        raw(502, 'Bad Gateway'),
      );
      expect(await rejectionOf(create()))
        .to.be.instanceOf(ProviderRefused)
        .with.property('message')
        .include('De-active');
      expect(await rejectionOf(create())).to.be.instanceOf(ProviderUnavailable);
    });
  });

  it('tests credentials with a query for an unknown transaction', async () => {
    provider.on(QUERY, found(), json({ APIConnect: 'INVALID_REQUEST' }), raw(500, ''));
    expect((await gatewayOne.testCredentials(access)).detail).to.include('accepts the credentials');
    expect(await rejectionOf(gatewayOne.testCredentials(access))).to.be.instanceOf(ProviderRefused);
    expect(await rejectionOf(gatewayOne.testCredentials(access))).to.be.instanceOf(ProviderUnavailable);
    expect(paths()).to.deep.equal([QUERY, QUERY, QUERY]);
  });

  describe('reading a callback', () => {
    const read = (fields: Record<string, string>) => gatewayOne.readCallback({ tran_id: 'T1', ...fields });

    it('reads status, transaction id and validation id', () => {
      expect(read({ status: 'VALID', val_id: 'V1', amount: '100' })).to.deep.equal({
        outcome: 'paid',
        status: 'VALID',
        merchantTransactionId: 'T1',
        validationId: 'V1',
      });
      expect(read({ status: 'VALID', sessionkey: 'SK1' })).to.include({ providerPaymentId: 'SK1' });
      expect(read({ status: 'FAILED', val_id: '' })).to.deep.equal({
        outcome: 'failed',
        status: 'FAILED',
        merchantTransactionId: 'T1',
      });
      expect(read({ status: 'VALIDATED' }).outcome).to.equal('paid');
      expect(read({ status: 'CANCELLED' }).outcome).to.equal('cancelled');
    });

    for (const status of ['UNATTEMPTED', 'EXPIRED', 'valid', 'VALID ', 'constructor']) {
      it(`ignores the status ${JSON.stringify(status)}`, () => {
        expect(read({ status }).outcome).to.equal('ignored');
      });
    }

    it('names the missing field', () => {
      for (const [fields, field] of [
        [{}, 'status'],
        [{ status: '' }, 'status'],
        [{ status: 'VALID', tran_id: '' }, 'tran_id'],
      ] as const) {
        expect(() => read(fields))
          .to.throw(CallbackMalformed)
          .with.property('field', field);
      }
    });
  });
});
