// Refunds at the simulated providers: by the merchant's program, and in the merchant panel.
import { expect } from 'chai';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { type Merchant, openMerchant, storeOf, walletOf } from './merchant.ts';

describe('the refunds of the simulator', () => {
  let simulator: Simulator;
  let merchant: Merchant;
  let now: number;
  beforeEach(async () => {
    now = Date.parse('2026-11-23T12:00:00Z');
    [simulator, merchant] = await Promise.all([startSimulator({ port: 0, now: () => now }), openMerchant()]);
  });
  afterEach(() => Promise.all([simulator.close(), merchant.close()]));

  const states = () => simulator.refunds().map(({ state }) => state);
  const errorOf = (work: () => unknown): string => {
    try {
      work();
      return 'none';
    } catch (error) {
      return `${error}`;
    }
  };

  describe('at gateway_one', () => {
    let store: ReturnType<typeof storeOf>;
    let bankId: string;
    beforeEach(async () => {
      store = storeOf(simulator, merchant);
      await store.initiate({ tran_id: 'T1' });
      simulator.pay('T1');
      bankId = (await store.query({ tran_id: 'T1' })).body.element[0].bank_tran_id;
    });
    const statusOf = async () => (await store.query({ tran_id: 'T1' })).body.element[0].status;
    const progressOf = async (id: string) => (await store.query({ refund_ref_id: id })).body.status;

    it('refunds parts up to the payment, and each of them once', async () => {
      const { body } = await store.refund(bankId, 'R1', '40.00');
      expect(body).to.include({ APIConnect: 'DONE', bank_tran_id: bankId, status: 'success' });
      const again = await store.refund(bankId, 'R1', '40.00');
      expect(again.body).to.include({ status: 'processing', refund_ref_id: body.refund_ref_id });
      expect(await progressOf(body.refund_ref_id)).to.equal('refunded');
      expect(await statusOf()).to.equal('VALID');
      expect((await store.refund(bankId, 'R2', '60.01')).body).to.include({ status: 'failed' });
      expect((await store.refund(bankId, 'R2', '60.00')).body).to.include({ status: 'success' });
      expect(await statusOf()).to.equal('REFUNDED');
      expect(simulator.totals()).to.deep.equal({ BDT: 0n });
      expect(errorOf(() => simulator.reverse('T1'))).to.contain('is refunded');
    });

    it('refuses unknown payments, incomplete requests and other stores', async () => {
      expect((await store.refund('NONE', 'R1', '1.00')).body).to.include({ status: 'failed' });
      expect((await store.refund(bankId, '', '1.00')).body).to.include({ status: 'failed' });
      expect((await store.refund(bankId, 'R1', '0.00')).body).to.include({ status: 'failed' });
      expect((await store.query({ refund_ref_id: 'NONE' })).body).to.include({ status: 'failed' });
      const stranger = await store.query({ refund_ref_id: 'NONE', store_passwd: 'wrong' });
      expect(stranger.body).to.deep.equal({ APIConnect: 'INVALID_REQUEST' });
      expect(simulator.refunds()).to.deep.equal([]);
    });

    it('shows nothing of a part refunded in the panel', async () => {
      const { id, state } = simulator.refund('T1', '30.00');
      expect({ state, id: id.length }).to.deep.equal({ state: 'refunded', id: 18 });
      expect(await statusOf()).to.equal('VALID');
      expect((await store.refund(bankId, 'R1', '70.01')).body).to.include({ status: 'failed' });
      simulator.refund('T1');
      expect(await statusOf()).to.equal('REFUNDED');
      expect(errorOf(() => simulator.refund('T1', '0'))).to.contain('must be a decimal in BDT');
    });

    it('is slow, cancelled, refused, or silent after the refund, by a fault', async () => {
      const ask = (kind: 'refund_slow' | 'refund_cancelled' | 'refund_refused' | 'empty') =>
        simulator.faults.add({ kind, operation: 'gateway_one.refund', ref: 'T1', delayMs: 60_000 });
      ask('refund_slow');
      const { body: slow } = await store.refund(bankId, 'R1', '10.00');
      ask('refund_cancelled');
      const { body: cancelled } = await store.refund(bankId, 'R2', '20.00');
      ask('refund_refused');
      expect((await store.refund(bankId, 'R3', '30.00')).body).to.include({ status: 'failed' });
      ask('empty');
      await store.refund(bankId, 'R4', '40.00').catch(() => undefined);
      expect(states()).to.deep.equal(['processing', 'processing', 'refunded']);
      expect(simulator.totals()).to.deep.equal({ BDT: 6_000n });
      expect(errorOf(() => simulator.reverse('T1'))).to.contain('in progress');
      now += 60_000;
      expect([await progressOf(slow.refund_ref_id), await progressOf(cancelled.refund_ref_id)]).to.deep.equal(
        ['refunded', 'cancelled'],
      );
      simulator.reverse('T1');
      expect(simulator.totals()).to.deep.equal({});
      expect((await store.refund(bankId, 'R5', '1.00')).body).to.include({ status: 'failed' });
    });
  });

  describe('at gateway_two', () => {
    let wallet: ReturnType<typeof walletOf>;
    let token: string;
    let ids: { paymentId: string; trxId: string };
    beforeEach(async () => {
      wallet = walletOf(simulator, merchant);
      token = (await wallet.grant()).body.id_token;
      const paymentId = (await wallet.create(token)).body.paymentID;
      simulator.authorizeAndLeave(paymentId);
      ids = { paymentId, trxId: (await wallet.execute(token, { paymentId })).body.trxID };
    });
    const refund = (refundAmount: string, changes: object = {}) =>
      wallet.refund(token, { ...ids, refundAmount, sku: 'rfd_1', reason: 'Returned', ...changes });
    const list = async () => (await wallet.refundStatus(token, ids)).body.refundTransactions;

    it('refunds parts up to the payment, and lists them with those of the panel', async () => {
      expect(await list()).to.equal(undefined);
      const { body } = await refund('40.00');
      expect(body).to.include({
        originalTrxId: ids.trxId,
        originalTrxAmount: '100',
        refundTransactionStatus: 'Completed',
        refundAmount: '40.00',
        currency: 'BDT',
        sku: 'rfd_1',
      });
      simulator.refund(ids.paymentId, '20');
      expect((await list()).map((each: { refundAmount: string }) => each.refundAmount)).to.deep.equal([
        '40.00',
        '20.00',
      ]);
      expect(await refund('40.01')).to.deep.include({ status: 400 });
      await refund('40.00');
      expect((await wallet.query(token, { paymentId: ids.paymentId })).body).to.include({
        transactionStatus: 'Completed',
      });
      expect(simulator.totals()).to.deep.equal({ BDT: 0n });
    });

    it('refuses unknown payments, incomplete requests and bad tokens', async () => {
      expect((await refund('1.00', { trxId: 'NONE' })).body).to.include({ externalCode: '2071' });
      expect((await refund('1.00', { sku: '' })).body).to.deep.equal({ message: 'Invalid request body' });
      expect((await refund('1.001')).body).to.include({ externalCode: '2072' });
      expect((await wallet.refundStatus('wrong', ids)).status).to.equal(401);
      simulator.faults.add({ kind: 'refund_slow', operation: 'gateway_two.refund' });
      expect((await wallet.refund('wrong', ids)).status).to.equal(401);
      expect(simulator.refunds()).to.deep.equal([]);
    });

    it('reports progress, and another amount by a fault', async () => {
      simulator.faults.add({ kind: 'refund_cancelled', operation: 'gateway_two.refund' });
      expect((await refund('10.00')).body).to.include({ refundTransactionStatus: 'Initiated' });
      expect(simulator.finishRefunds()).to.equal(1);
      expect((await list())[0]).to.include({ refundTransactionStatus: 'Failed' });
      simulator.faults.add({ kind: 'wrong_amount', operation: 'gateway_two.refund_query' });
      expect((await list())[0]).to.include({ refundAmount: '110.00' });
    });
  });

  it('show in the merchant panel, where a browser refunds and reverses', async () => {
    await storeOf(simulator, merchant).initiate({ tran_id: 'T1' });
    const panel = async (body?: string) => {
      const [, link] = /href="([^"]*\/panel\/[^"]*)"/.exec(await (await fetch(simulator.url)).text()) ?? [];
      const init = body === undefined ? {} : { method: 'POST', body };
      const response = await fetch(`${simulator.url}${link ?? '/gateway_one/panel/NONE'}`, init);
      return { status: response.status, html: await response.text() };
    };
    expect((await panel()).status).to.equal(404);
    simulator.pay('T1');
    expect((await panel()).html).to.contain('value="100.00"');
    const refunded = await panel('press=refund&amount=30.00');
    expect(refunded.html).to.contain('30.00 BDT, refunded').and.contain('value="70.00"');
    expect((await panel('press=refund&amount=70.01')).status).to.equal(409);
    expect((await panel('press=reverse')).html)
      .to.contain('reversed')
      .and.not.contain('<button');
  });

  it('are commands of the control interface', async () => {
    await storeOf(simulator, merchant).initiate({ tran_id: 'T1' });
    simulator.pay('T1');
    const command = async (name: string, input: object = {}) => {
      const response = await fetch(`${simulator.url}/_control/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(input),
      });
      return JSON.parse(await response.text());
    };
    const made = { merchantTransactionId: 'T1', amount: '12.50', amountMinor: '1250', currency: 'BDT' };
    const { refund } = await command('refund', { ref: 'T1', amount: '12.50' });
    expect(refund).to.include({ ...made, state: 'refunded' });
    expect((await command('refunds')).refunds).to.deep.equal([refund]);
    expect(await command('finish-refunds')).to.deep.equal({ ok: true, finished: 0 });
    expect((await command('totals')).totals).to.deep.equal({ BDT: '8750' });
  });
});
