// Refunds of gateway_two against a provider on a socket: the requests, and the results of the answers.
import { expect } from 'chai';
import {
  ProviderRefused,
  ProviderUnavailable,
  type RefundSearch,
} from '../../../../../core/payment/providers/driver.ts';
import { gatewayTwo } from '../../../../../core/payment/providers/gateway-two/driver.ts';
import { refunds, rootUrl } from '../../../../../core/payment/providers/gateway-two/refunds.ts';
import { createProviderHttp } from '../../../../../core/payment/slots/provider-connections.ts';
import { payment as paymentAnswer } from '../sample-answers.ts';
import {
  hangUp,
  json,
  raw,
  type Scripted,
  type ScriptedProvider,
  startScriptedProvider,
} from '../scripted-provider.ts';
import { createTestAccess, rejectionOf, settledPayment, type TestAccess } from '../test-access.ts';

const BASE = '/v1.2.0-beta/tokenized/checkout';
const GRANT = `${BASE}/token/grant`;
const QUERY = `${BASE}/payment/status`;
const REFUND = '/v2/tokenized-checkout/refund/payment/transaction';
const STATUS = '/v2/tokenized-checkout/refund/payment/status';
const amount = { minor: 3_050n, currency: 'BDT' };

describe('refunds of gateway_two', () => {
  let provider: ScriptedProvider;
  let access: TestAccess;
  beforeEach(async () => {
    provider = await startScriptedProvider();
    const baseUrl = `${provider.url}${BASE}`;
    const http = createProviderHttp({
      baseUrl: gatewayTwo.rootUrl?.(baseUrl) ?? baseUrl,
      environment: 'sandbox',
      productionUrls: [],
      timeoutMs: 2_000,
    });
    const credentials = { username: 'shop', password: 'pass', appKey: 'key', appSecret: 'secret' };
    access = { ...createTestAccess({ baseUrl, credentials }), http };
    provider.on(GRANT, json({ id_token: 'T1', expires_in: 3600, statusCode: '0000' }));
    provider.on(QUERY, queried());
  });
  afterEach(async () => {
    await provider.close();
    await access.http.close();
  });

  const payment = settledPayment();
  const asked = { payment, reference: 'rfd_01k7', amount, reason: 'x'.repeat(300) };
  const request = (changes = {}) => refunds.request(access, { ...asked, ...changes });
  const find = (...requested: RefundSearch['requested']) => refunds.find(access, { payment, requested });
  const queried = (changes = {}): Scripted =>
    json(paymentAnswer({ merchantInvoiceNumber: undefined, merchantInvoice: '01K7TRANSACTION', ...changes }));
  const made = (changes = {}) => ({
    refundTrxId: 'RF-1',
    refundTransactionStatus: 'Completed',
    refundAmount: '30.5',
    ...changes,
  });
  const original = { originalTrxId: 'BKL30A9ULZ', originalTrxAmount: '100' };
  const answered = (changes = {}) => json({ ...original, ...made(), currency: 'BDT', ...changes });
  const listed = (...refundTransactions: object[]) => json({ ...original, refundTransactions });
  const found = { kind: 'refund', gatewayRefundId: 'RF-1', amount, state: 'succeeded' };

  it('requests a part by version 2, with the token and the ids of the payment', async () => {
    provider.on(REFUND, answered());
    expect(await request()).to.deep.include({ ...found, reference: 'rfd_01k7' });
    const received = provider.received.at(-1);
    expect(received?.headers).to.include({ authorization: 'T1', 'x-app-key': 'key' });
    expect(JSON.parse(received?.body ?? '')).to.deep.equal({
      paymentId: 'PAY-1',
      trxId: 'BKL30A9ULZ',
      refundAmount: '30.50',
      sku: 'rfd_01k7',
      reason: 'x'.repeat(255),
    });
    expect(access.steps.at(-1)).to.include({ operation: 'refund', outcome: 'refunded' });
  });

  it('is refused only by the provider', async () => {
    const refusal = {
      internalCode: 'too_much',
      externalCode: '2072',
      errorMessageEn: 'Refund amount not valid',
    };
    provider.on(REFUND, json(refusal, 400));
    expect(await rejectionOf(request()))
      .to.be.instanceOf(ProviderRefused)
      .with.property('message', 'the provider refused the refund: 2072 Refund amount not valid');
    expect(access.steps.at(-1)).to.include({ outcome: 'not_refunded' });
    const unclear = {
      'another payment': answered({ originalTrxId: 'OTHER' }),
      'another amount': answered({ refundAmount: '130.50' }),
      'another currency': answered({ currency: 'USD' }),
      'another amount of the payment': answered({ originalTrxAmount: '1100' }),
      'no id': answered({ refundTrxId: undefined }),
      'a transient code': json({ externalCode: '2003' }),
      'HTTP 500': raw(500, ''),
      HTML: raw(200, '<html>'),
      'no answer': hangUp,
    };
    for (const [what, answer] of Object.entries(unclear)) {
      provider.on(REFUND, answer);
      expect(await rejectionOf(request()), what).to.be.instanceOf(ProviderUnavailable);
    }
  });

  it('says of a repeated request nothing without a token', async () => {
    provider.on(GRANT, json({ statusCode: '2001', statusMessage: 'Invalid App Key' }));
    expect(await rejectionOf(request())).to.be.instanceOf(ProviderRefused);
    expect(await rejectionOf(request({ isRepeated: true }))).to.be.instanceOf(ProviderUnavailable);
  });

  it('lists the refunds of a payment, those of others too', async () => {
    provider.on(
      STATUS,
      listed(
        made(),
        made({ refundTrxId: 'RF-2', refundTransactionStatus: 'Initiated', refundAmount: '60' }),
        made({ refundTrxId: 'RF-3', refundTransactionStatus: 'Failed', refundAmount: '60' }),
      ),
      json(original),
    );
    const { refunds: list, isReversed } = await find({
      reference: 'rfd_1',
      amount,
      gatewayRefundId: undefined,
    });
    expect(list[0]).to.deep.include(found);
    expect(list.map(({ state }) => state)).to.deep.equal(['succeeded', 'pending', 'failed']);
    expect(isReversed).to.equal(false);
    expect(await find()).to.deep.equal({ refunds: [], isReversed: false });
    expect(JSON.parse(provider.received.at(-1)?.body ?? '')).to.deep.equal({
      paymentId: 'PAY-1',
      trxId: 'BKL30A9ULZ',
    });
  });

  it('reports a reversal that its refunds do not explain', async () => {
    provider.on(QUERY, queried({ transactionStatus: 'Reversed' }));
    provider.on(STATUS, listed(), listed(made({ refundAmount: '100' })), listed(made()));
    const reversed = [(await find()).isReversed, (await find()).isReversed, (await find()).isReversed];
    expect(reversed).to.deep.equal([true, false, true]);
  });

  it('knows nothing after an answer that it cannot judge', async () => {
    const known = { reference: 'rfd_1', amount, gatewayRefundId: 'RF-1' };
    const answers = {
      'another amount of a known refund': listed(made({ refundAmount: '130.50' })),
      'more than the payment': listed(made({ refundTrxId: 'X', refundAmount: '100.01' })),
      'another payment': json({ ...original, originalTrxId: 'OTHER' }),
      'no list': json({ ...original, refundTransactions: 'none' }),
      'a refusal': json({ externalCode: '2071', errorMessageEn: 'Not found' }, 400),
      HTML: raw(200, '<html>'),
    };
    for (const [what, answer] of Object.entries(answers)) {
      provider.on(STATUS, answer);
      expect(await rejectionOf(find(known)), what).to.be.instanceOf(ProviderUnavailable);
    }
  });

  it('finds the root of both versions', () => {
    expect(rootUrl('https://pay.example/v1.2.0-beta/tokenized/checkout')).to.equal('https://pay.example');
    expect(rootUrl('http://127.0.0.1:5098/gateway_two')).to.equal('http://127.0.0.1:5098/gateway_two');
  });
});
