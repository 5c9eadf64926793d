// Refunds of gateway_one against a provider on a socket: the requests, and the results of the answers.
import { expect } from 'chai';
import {
  ProviderRefused,
  ProviderUnavailable,
  type RefundSearch,
} from '../../../../../core/payment/providers/driver.ts';
import { refunds } from '../../../../../core/payment/providers/gateway-one/refunds.ts';
import { transaction } from '../sample-answers.ts';
import { hangUp, json, raw, type ScriptedProvider, startScriptedProvider } from '../scripted-provider.ts';
import { createTestAccess, rejectionOf, settledPayment, type TestAccess } from '../test-access.ts';

const PATH = '/base/validator/api/merchantTransIDvalidationAPI.php';
const VAL_ID = '2611211200001zTk5W3rlDPbwn4';
const BANK_ID = '26112112000015pM4yYw';
const amount = { minor: 3_050n, currency: 'BDT' };

describe('refunds of gateway_one', () => {
  let provider: ScriptedProvider;
  let access: TestAccess;
  beforeEach(async () => {
    provider = await startScriptedProvider();
    access = createTestAccess({
      baseUrl: `${provider.url}/base`,
      credentials: { storeId: 'store-7', storePassword: 'pass' },
      timeoutMs: 2_000,
    });
  });
  afterEach(async () => {
    await provider.close();
    await access.http.close();
  });

  const payment = settledPayment({ gatewayTransactionId: VAL_ID, bankTransactionId: BANK_ID });
  const asked = { payment, reference: 'rfd_01k7', amount, reason: 'The customer returned it' };
  const request = (changes = {}) => refunds.request(access, { ...asked, ...changes });
  const find = (...requested: RefundSearch['requested']) => refunds.find(access, { payment, requested });
  const known = (gatewayRefundId: string | undefined, minor = 3_050n) => ({
    reference: `rfd_${gatewayRefundId}`,
    amount: { minor, currency: 'BDT' },
    gatewayRefundId,
  });
  const accepted = (changes = {}) =>
    json({
      APIConnect: 'DONE',
      bank_tran_id: BANK_ID,
      trans_id: '01K7TRANSACTION',
      refund_ref_id: 'REF-1',
      status: 'success',
      errorReason: '',
      ...changes,
    });
  const status = (refund_ref_id: string, says: string, changes = {}) =>
    json({ APIConnect: 'DONE', bank_tran_id: BANK_ID, refund_ref_id, status: says, ...changes });
  const queried = (changes = {}) =>
    json({ APIConnect: 'DONE', no_of_trans_found: '1', element: [transaction(changes)] });

  it("requests a part by the bank's id, with the hub's id of the refund", async () => {
    provider.on(PATH, accepted(), accepted({ status: 'processing' }));
    const found = {
      kind: 'refund',
      gatewayRefundId: 'REF-1',
      reference: 'rfd_01k7',
      amount,
      state: 'pending',
    };
    expect(await request()).to.deep.include(found);
    expect(Object.fromEntries(provider.received[0]?.query ?? [])).to.deep.equal({
      bank_tran_id: BANK_ID,
      refund_trans_id: 'rfd_01k7',
      refe_id: 'rfd_01k7',
      refund_amount: '30.50',
      refund_remarks: 'The customer returned it',
      store_id: 'store-7',
      store_passwd: 'pass',
      v: '1',
      format: 'json',
    });
    expect(await request({ isRepeated: true }), 'the answer to a repeated request').to.deep.include(found);
    expect(access.steps[0]).to.include({ operation: 'refund', outcome: 'pending' });
  });

  it("queries the bank's id of a payment that was settled without one", async () => {
    provider.on(PATH, queried(), accepted());
    await request({ payment: settledPayment({ gatewayTransactionId: VAL_ID }) });
    expect(provider.received.map(({ query }) => query.get('bank_tran_id'))).to.deep.equal([null, BANK_ID]);
  });

  it('is refused only by the provider', async () => {
    provider.on(PATH, accepted({ status: 'failed', errorReason: 'Already refunded' }));
    expect(await rejectionOf(request()))
      .to.be.instanceOf(ProviderRefused)
      .with.property('message', 'the provider refused the refund: Already refunded');
    expect(access.steps[0]).to.include({ outcome: 'not_refunded' });
    const unclear = {
      'another status': accepted({ status: 'done' }),
      'no id': accepted({ refund_ref_id: '' }),
      'another payment': accepted({ bank_tran_id: 'OTHER' }),
      'wrong credentials': json({ APIConnect: 'INVALID_REQUEST' }),
      'HTTP 500': raw(500, ''),
      HTML: raw(200, '<html>'),
      'no answer': hangUp,
    };
    for (const [what, answer] of Object.entries(unclear)) {
      provider.on(PATH, answer);
      expect(await rejectionOf(request()), what).to.be.instanceOf(ProviderUnavailable);
    }
  });

  it('refuses other currencies than the store has, without a request', async () => {
    const dollars = { minor: 1_000n, currency: 'USD' };
    expect(await rejectionOf(request({ amount: dollars }))).to.be.instanceOf(ProviderRefused);
    expect(provider.received).to.have.length(0);
  });

  it('queries each refund by its id, and the payment for a reversal', async () => {
    provider.on(
      PATH,
      queried(),
      status('A', 'refunded', { tran_id: '01K7TRANSACTION' }),
      status('B', 'processing'),
      status('C', 'cancelled'),
    );
    const { refunds: found, isReversed } = await find(known('A'), known(undefined), known('B'), known('C'));
    expect(found.map(({ gatewayRefundId, state }) => [gatewayRefundId, state])).to.deep.equal([
      ['A', 'succeeded'],
      ['B', 'pending'],
      ['C', 'failed'],
    ]);
    expect(found[0]).to.deep.include({ reference: 'rfd_A', amount });
    expect(isReversed).to.equal(false);
    expect(access.steps.map(({ operation, outcome }) => `${operation}: ${outcome}`)).to.deep.equal([
      'query: paid',
      'refund-query: refunded',
      'refund-query: pending',
      'refund-query: not_refunded',
    ]);
  });

  it('reports a reversal that its refunds do not explain', async () => {
    const reversed = queried({ status: 'REFUNDED' });
    provider.on(PATH, reversed);
    expect(await find()).to.deep.equal({ refunds: [], isReversed: true });
    for (const [minor, says, isReversed] of [
      [10_000n, 'refunded', false],
      [10_000n, 'processing', false],
      [10_000n, 'cancelled', true],
      [9_999n, 'refunded', true],
    ] as const) {
      provider.on(PATH, reversed, status('A', says));
      expect((await find(known('A', minor))).isReversed, `${minor} ${says}`).to.equal(isReversed);
    }
  });

  it('knows nothing after an answer that it cannot judge', async () => {
    const answers = {
      'an unknown status': status('A', 'done'),
      'another refund': status('B', 'refunded'),
      'another payment': status('A', 'refunded', { tran_id: 'OTHER' }),
      'no connection': json({ APIConnect: 'FAILED' }),
      HTML: raw(200, '<html>'),
    };
    for (const [what, answer] of Object.entries(answers)) {
      provider.on(PATH, queried(), answer);
      expect(await rejectionOf(find(known('A'))), what).to.be.instanceOf(ProviderUnavailable);
    }
    provider.on(PATH, raw(503, ''));
    expect(await rejectionOf(find(known('A')))).to.be.instanceOf(ProviderUnavailable);
  });
});
