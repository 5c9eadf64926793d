// gateway_two against a provider on a socket: tokens, execution, and the results of the answers.
import { expect } from 'chai';
import {
  CallbackMalformed,
  ProviderRefused,
  ProviderUnavailable,
} from '../../../../../core/payment/providers/driver.ts';
import { gatewayTwo } from '../../../../../core/payment/providers/gateway-two/driver.ts';
import { payment } from '../sample-answers.ts';
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

const GRANT = '/base/token/grant';
const CREATE = '/base/create';
const EXECUTE = '/base/execute';
const QUERY = '/base/payment/status';
const UNAUTHORIZED = json({ message: 'The incoming token has expired' }, 401);

describe('gateway_two', () => {
  let provider: ScriptedProvider;
  let access: TestAccess;

  const open = (options: Record<string, string> = {}) =>
    createTestAccess({
      baseUrl: `${provider.url}/base`,
      credentials: { username: 'shop', password: 'pass', appKey: 'key', appSecret: 'secret' },
      options,
      timeoutMs: 1_000,
    });
  beforeEach(async () => {
    provider = await startScriptedProvider();
    access = open();
    provider.on(GRANT, token('T1'), token('T2'), token('T3'));
  });
  afterEach(async () => {
    await provider.close();
    await access.http.close();
  });

  const token = (id_token: string): Scripted => json({ id_token, expires_in: 3600, statusCode: '0000' });
  const code = (statusCode: string): Scripted => json({ statusCode, statusMessage: 'Said so' });
  const queried = (changes: Record<string, unknown> = {}): Scripted =>
    json(payment({ merchantInvoiceNumber: undefined, merchantInvoice: '01K7TRANSACTION', ...changes }));
  const initiated = queried({ transactionStatus: 'Initiated', trxID: undefined });
  const verify = (changes = {}) => gatewayTwo.verify(access, expectedPayment(changes));
  const calls = () => provider.received.map(({ path }) => path.replace('/base', ''));
  const outcomes = () => access.steps.map(({ operation, outcome }) => `${operation}: ${outcome}`);

  describe('finding all payments of a session', () => {
    const find = (...claimedPaymentIds: string[]) => {
      const { merchantTransactionId, providerPaymentId } = expectedPayment();
      return gatewayTwo.findPayments(access, {
        merchantTransactionId,
        providerPaymentId,
        claimedPaymentIds,
      });
    };
    const stands = (id: string) => queried({ paymentID: id, trxID: `TRX-${id}` });

    const unclear = {
      'a code that it does not know': code('9999'),
      'a transient code': code('2003'),
      'HTTP 500': raw(500, 'oops'),
      HTML: raw(200, '<html>Maintenance</html>'),
    };
    for (const [what, answer] of Object.entries(unclear)) {
      it(`judges the other payment ids when one gets ${what}`, async () => {
        provider.on(QUERY, stands('A'), answer, stands('C'), code('2002'));
        const { payments, unanswered } = await find('A', 'FORGED', 'C', 'UNKNOWN');
        expect(payments.map((each) => each.gatewayTransactionId)).to.deep.equal(['TRX-A', 'TRX-C']);
        expect([...unanswered.keys()]).to.deep.equal(['FORGED']);
        expect(calls()).to.not.include('/execute');
      });
    }

    it('keeps earlier results when the provider grants no token', async () => {
      provider.on(GRANT, raw(503, ''));
      const { payments, unanswered } = await find('A', 'B');
      expect(payments).to.deep.equal([]);
      expect([...unanswered.keys()]).to.deep.equal(['A', 'B']);
    });
  });

  describe('verifying a session', () => {
    it('executes the stored payment with token and app key', async () => {
      provider.on(EXECUTE, json(payment()));
      expect(await verify({ proof: 'foreign' })).to.include({
        kind: 'paid',
        gatewayTransactionId: 'BKL30A9ULZ',
      });
      const [grant, execute] = provider.received;
      expect(grant).to.include({
        path: GRANT,
        method: 'POST',
        body: '{"app_key":"key","app_secret":"secret"}',
      });
      expect(grant?.headers).to.include({ username: 'shop', password: 'pass' });
      expect(execute).to.include({ path: EXECUTE, method: 'POST', body: '{"paymentId":"PAY-1"}' });
      expect(execute?.headers).to.include({ authorization: 'T1', 'x-app-key': 'key' });
      expect(outcomes()).to.deep.equal(['grant: pending', 'execute: paid']);
    });

    it("spells the payment id as the slot's option says", async () => {
      await access.http.close();
      access = open({ paymentIdField: 'paymentID' });
      provider.on(EXECUTE, code('2062'));
      provider.on(QUERY, queried());
      expect((await verify()).kind).to.equal('paid');
      const bodies = provider.received.slice(1).map(({ body }) => body);
      expect(bodies).to.deep.equal(['{"paymentID":"PAY-1"}', '{"paymentID":"PAY-1"}']);
    });

    it('reuses its token for the next request', async () => {
      provider.on(EXECUTE, json(payment()));
      await verify();
      await verify();
      expect(calls()).to.deep.equal(['/token/grant', '/execute', '/execute']);
    });

    for (const settledBefore of ['2062', '2068', '2116', '2117', '2119']) {
      it(`finds an earlier execution by the query (${settledBefore})`, async () => {
        provider.on(EXECUTE, code(settledBefore));
        provider.on(QUERY, queried());
        expect(await verify()).to.include({ kind: 'paid', gatewayTransactionId: 'BKL30A9ULZ' });
        expect(calls()).to.deep.equal(['/token/grant', '/execute', '/payment/status']);
      });
    }

    it('finds by the query that the customer has not authorized the payment', async () => {
      provider.on(EXECUTE, code('2056'));
      provider.on(QUERY, initiated);
      expect((await verify()).kind).to.equal('pending');
    });

    const unclear: Record<string, Scripted> = {
      silence,
      'a hang-up': hangUp,
      'HTTP 500': raw(500, 'oops'),
      HTML: raw(200, '<html>Maintenance</html>'),
      'an empty body': raw(200, ''),
      'JSON that is cut off': raw(200, JSON.stringify(payment()).slice(0, -20)),
      'a redirect': (response) => response.writeHead(307, { location: EXECUTE }).end(),
      'a completed payment without its amount': json(payment({ amount: undefined })),
      'a transient code': code('2003'),
    };
    for (const [what, answer] of Object.entries(unclear)) {
      it(`queries after ${what}, and does not execute again`, async () => {
        provider.on(EXECUTE, answer);
        provider.on(QUERY, queried());
        expect((await verify()).kind).to.equal('paid');
        expect(calls()).to.deep.equal(['/token/grant', '/execute', '/payment/status']);
        expect(outcomes()).to.deep.equal(['grant: pending', 'execute: unavailable', 'query: paid']);
      });

      it(`asks for a retry after ${what} without a result`, async () => {
        provider.on(EXECUTE, answer);
        provider.on(QUERY, initiated);
        expect(await rejectionOf(verify())).to.be.instanceOf(ProviderUnavailable);
      });

      it(`is inconclusive when the query also ends in ${what}`, async () => {
        provider.on(EXECUTE, answer);
        provider.on(QUERY, answer);
        expect(await rejectionOf(verify())).to.be.instanceOf(ProviderUnavailable);
      });
    }

    it('fails a payment by a final code without another request', async () => {
      provider.on(EXECUTE, code('2023'));
      expect(await verify()).to.include({ kind: 'not_paid', status: 'failed' });
      expect(calls()).to.deep.equal(['/token/grant', '/execute']);
    });

    it('does not settle by another payment, invoice, amount or currency', async () => {
      const foreign = [
        { paymentID: 'PAY-2' },
        { merchantInvoiceNumber: 'X' },
        { amount: '1' },
        { currency: 'USD' },
      ];
      for (const changes of foreign) {
        provider.on(EXECUTE, json(payment(changes)));
        expect((await verify()).kind, JSON.stringify(changes)).to.equal('mismatch');
      }
    });

    it('executes nothing for a paid session', async () => {
      provider.on(QUERY, queried(), queried({ transactionStatus: 'Refunded' }));
      expect((await verify({ isPaid: true })).kind).to.equal('paid');
      expect((await verify({ isPaid: true })).kind).to.equal('reversed');
      expect(calls()).to.deep.equal(['/token/grant', '/payment/status', '/payment/status']);
    });

    it('makes no request for a session without a checkout', async () => {
      expect((await verify({ providerPaymentId: '' })).kind).to.equal('pending');
      expect(calls()).to.deep.equal([]);
    });
  });

  describe('with a rejected token', () => {
    it('gets one new token', async () => {
      provider.on(EXECUTE, UNAUTHORIZED, json(payment()));
      expect((await verify()).kind).to.equal('paid');
      expect(calls()).to.deep.equal(['/token/grant', '/execute', '/token/grant', '/execute']);
      expect(provider.received.at(-1)?.headers.authorization).to.equal('T2');
    });

    it('does not get a third token', async () => {
      provider.on(QUERY, UNAUTHORIZED);
      const error = await rejectionOf(verify({ isPaid: true }));
      expect(error)
        .to.be.instanceOf(ProviderUnavailable)
        .with.property('message')
        .include('it has just granted');
      expect(calls()).to.deep.equal(['/token/grant', '/payment/status', '/token/grant', '/payment/status']);
    });

    it('executes nothing and is inconclusive without a token', async () => {
      for (const refusal of [
        code('2001'),
        json({ message: 'Unauthorized' }, 401),
        code('2003'),
        raw(429, ''),
      ]) {
        provider.on(GRANT, refusal);
        expect(await rejectionOf(verify())).to.be.instanceOf(ProviderUnavailable);
      }
      expect(new Set(calls())).to.deep.equal(new Set(['/token/grant']));
      expect(calls()).to.have.length(4);
    });
  });

  describe('creating a checkout', () => {
    const checkout = {
      sessionId: 'chs_01k7',
      merchantTransactionId: '01K7TRANSACTION',
      amount: { minor: 10_050n, currency: 'BDT' },
      callbackUrl: 'https://hub.example/v1/webhooks/gateway_two?session_id=chs_01k7',
      orderReference: 'ORD-1',
      customer: {},
    } as const;
    const create = () => gatewayTwo.createCheckout(access, checkout);

    it('creates a payment', async () => {
      const answer = {
        paymentID: 'PAY-1',
        bkashURL: 'https://pay.example/c',
        transactionStatus: 'Initiated',
      };
      provider.on(CREATE, json({ statusCode: '0000', ...answer }));
      expect(await create()).to.deep.equal({
        providerPaymentId: 'PAY-1',
        checkoutUrl: 'https://pay.example/c',
      });
      expect(JSON.parse(provider.received.at(-1)?.body ?? '')).to.deep.equal({
        mode: '0011',
        payerReference: '01K7TRANSACTION',
        callbackURL: checkout.callbackUrl,
        amount: '100.50',
        currency: 'BDT',
        intent: 'sale',
        merchantInvoiceNumber: '01K7TRANSACTION',
      });
    });

    it('reports a refusal, or no answer', async () => {
      provider.on(CREATE, code('2029'), raw(504, ''));
      expect(await rejectionOf(create())).to.be.instanceOf(ProviderRefused);
      expect(await rejectionOf(create())).to.be.instanceOf(ProviderUnavailable);
    });
  });

  describe('testing credentials', () => {
    it('gets a new token even if it has one, and keeps the new one', async () => {
      provider.on(EXECUTE, json(payment()));
      await verify();
      expect((await gatewayTwo.testCredentials(access)).detail).to.include('grants access tokens');
      await verify();
      expect(calls()).to.deep.equal(['/token/grant', '/execute', '/token/grant', '/execute']);
      expect(provider.received.at(-1)?.headers.authorization).to.equal('T2');
    });

    it('gets only one token if it has none', async () => {
      await gatewayTwo.testCredentials(access);
      expect(calls()).to.deep.equal(['/token/grant']);
    });

    it('reports a refusal', async () => {
      provider.on(GRANT, json({ message: 'Unauthorized' }, 401));
      expect(await rejectionOf(gatewayTwo.testCredentials(access))).to.be.instanceOf(ProviderRefused);
    });
  });

  describe('reading a callback', () => {
    const read = gatewayTwo.readCallback;

    it('reads payment id and status, both optional', () => {
      expect(read({ paymentID: 'P', status: 'success', apiVersion: '1', signature: 'x' })).to.deep.equal({
        outcome: 'paid',
        status: 'success',
        providerPaymentId: 'P',
      });
      expect(read({ status: 'failure' })).to.deep.equal({ outcome: 'failed', status: 'failure' });
      expect(read({ status: 'cancel' }).outcome).to.equal('cancelled');
      expect(read({})).to.deep.equal({ outcome: 'unknown', status: '' });
      expect(read({ status: 'Success' }).outcome).to.equal('ignored');
      expect(read({ status: '__proto__' }).outcome).to.equal('ignored');
    });

    it('reads either spelling of the payment id, and both if they are equal', () => {
      expect(read({ paymentId: 'P' }).providerPaymentId).to.equal('P');
      expect(read({ paymentID: 'P', paymentId: 'P' }).providerPaymentId).to.equal('P');
      expect(() => read({ paymentID: 'P', paymentId: 'Q' }))
        .to.throw(CallbackMalformed, 'differ')
        .with.property('field', 'paymentID');
    });
  });
});
