// gateway_one as a merchant meets it.
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { type Simulator, startSimulator } from '../../../../cli/simulator/simulator.ts';
import { until } from '../../../support/until.ts';
import { type Merchant, openMerchant, storeOf, transactionId } from '../merchant.ts';

describe('the simulated gateway_one', () => {
  let simulator: Simulator;
  let merchant: Merchant;
  let store: ReturnType<typeof storeOf>;
  beforeEach(async () => {
    [simulator, merchant] = await Promise.all([
      startSimulator({ port: 0, retryDelaysMs: [10, 10] }),
      openMerchant(),
    ]);
    store = storeOf(simulator, merchant);
  });
  afterEach(() => Promise.all([simulator.close(), merchant.close()]));

  /** A checkout that the merchant has asked for. */
  const initiated = async (fields: Record<string, string> = {}) => {
    const { body } = await store.initiate(fields);
    expect(body).to.include({ status: 'SUCCESS', failedreason: '' });
    return body as { sessionkey: string; GatewayPageURL: string };
  };
  /** Its notification, once it has arrived. */
  const notification = async () => {
    await until(() => merchant.received.length > 0, 'a notification has arrived');
    return merchant.received.at(-1)?.fields ?? {};
  };

  it('creates a checkout with a session key and a page', async () => {
    const { sessionkey, GatewayPageURL } = await initiated();
    expect(GatewayPageURL).to.equal(`${simulator.urls.gateway_one}/checkout/${sessionkey}`);
    expect((await fetch(GatewayPageURL)).status).to.equal(200);
    expect(simulator.payments()).to.have.length(1);
    expect(simulator.payments()[0]).to.deep.include({
      gateway: 'gateway_one',
      ref: sessionkey,
      amount: { minor: 10_000n, currency: 'BDT' },
      state: 'initiated',
      executions: 0,
    });
  });

  it('explains why it creates none', async () => {
    const reasonFor = async (fields: Record<string, string>) => {
      const { status, body } = await store.initiate(fields);
      expect({ status, said: body.status, url: body.GatewayPageURL }).to.deep.equal({
        status: 200,
        said: 'FAILED',
        url: '',
      });
      return body.failedreason;
    };
    expect(await reasonFor({ store_passwd: 'wrong' })).to.match(/Store Credential/);
    expect(await reasonFor({ cus_phone: '' })).to.match(/cus_phone is missing/);
    expect(await reasonFor({ tran_id: 'T'.repeat(31) })).to.match(/tran_id is longer/);
    expect(await reasonFor({ ipn_url: `${merchant.url}/${'x'.repeat(255)}` })).to.match(/ipn_url/);
    expect(await reasonFor({ success_url: 'javascript:alert(1)' })).to.match(/success_url/);
    expect(await reasonFor({ total_amount: '1.001' })).to.match(/total_amount/);
    expect(await reasonFor({ total_amount: '1.5', currency: 'JPY' })).to.match(/total_amount/);
    expect(simulator.payments()).to.deep.equal([]);
  });

  it('notifies of a payment with all fields, signed over those in verify_key', async () => {
    const { sessionkey } = await initiated({ value_a: 'a & b' });
    simulator.pay(sessionkey);
    const fields = await notification();
    const [payment] = simulator.payments();
    expect(merchant.received[0]).to.include({ method: 'POST', path: '/notify' });
    expect(fields).to.include({
      status: 'VALID',
      tran_id: payment?.merchantTransactionId,
      val_id: payment?.proof,
      amount: '100.00',
      currency: 'BDT',
      currency_type: 'BDT',
      currency_amount: '100.00',
      store_amount: '97.50',
      store_id: simulator.credentials.gateway_one.storeId,
      value_a: 'a & b',
      risk_level: '0',
    });
    expect(fields).to.include.keys('bank_tran_id', 'card_type', 'card_no', 'tran_date', 'verify_sign_sha2');
    const names = [...(fields['verify_key'] ?? '').split(','), 'store_passwd'].sort();
    const { storePassword } = simulator.credentials.gateway_one;
    const signed = { ...fields, store_passwd: md5(storePassword) } as Record<string, string>;
    expect(fields['verify_sign']).to.equal(md5(names.map((name) => `${name}=${signed[name]}`).join('&')));
  });

  it('notifies of failures and cancellations without a val_id', async () => {
    const [failed, cancelled] = [await initiated(), await initiated()];
    simulator.fail(failed.sessionkey);
    expect(await notification())
      .to.include({ status: 'FAILED' })
      .and.not.have.property('val_id');
    simulator.cancel(cancelled.sessionkey);
    await simulator.idle();
    expect(await notification())
      .to.include({ status: 'CANCELLED' })
      .and.not.have.property('val_id');
    expect(simulator.totals()).to.deep.equal({});
  });

  it('retries a notification until it gets a 2xx, and gives up after the last attempt', async () => {
    let refusals = 2;
    merchant.answer = (response) => void response.writeHead(refusals-- > 0 ? 503 : 200).end();
    simulator.pay((await initiated()).sessionkey);
    await simulator.idle();
    expect(simulator.deliveries().map(({ status }) => status)).to.deep.equal([503, 503, 200]);

    merchant.answer = (response) => void response.destroy();
    simulator.pay((await initiated()).sessionkey);
    await simulator.idle();
    expect(
      simulator
        .deliveries()
        .slice(3)
        .map(({ status }) => status),
    ).to.deep.equal([undefined, undefined, undefined]);
  });

  it('validates a payment: VALID first, then VALIDATED, with numbers as strings', async () => {
    const { sessionkey } = await initiated({ total_amount: '69.00' });
    simulator.pay(sessionkey);
    const { val_id: proof = '', tran_id } = await notification();
    const first = await store.validate(proof);
    expect(first.body).to.include({
      APIConnect: 'DONE',
      status: 'VALID',
      tran_id,
      val_id: proof,
      amount: '69',
      currency_amount: '69.00',
      currency_type: 'BDT',
      store_amount: '67.27',
    });
    expect((await store.validate(proof)).body).to.include({ status: 'VALIDATED', tran_id });
  });

  it('converts to taka, and also returns the requested amount', async () => {
    const { sessionkey } = await initiated({ total_amount: '10.50', currency: 'USD' });
    simulator.pay(sessionkey);
    const { val_id: proof = '' } = await notification();
    expect((await store.validate(proof)).body).to.include({
      amount: '1155',
      currency: 'BDT',
      currency_rate: '110.0000',
      currency_amount: '10.50',
      currency_type: 'USD',
    });
    expect(simulator.totals()).to.deep.equal({ USD: 1_050n });
  });

  it('rejects other val_ids and stores', async () => {
    expect((await store.validate('no-such')).body).to.include({ status: 'INVALID_TRANSACTION' });
    const stranger = { store_passwd: 'wrong' };
    expect((await store.validate('any', stranger)).body).to.include({ APIConnect: 'INVALID_REQUEST' });
    expect((await store.query({ tran_id: 'any', ...stranger })).body).to.deep.equal({
      APIConnect: 'INVALID_REQUEST',
    });
  });

  it('lists every attempt of a transaction, the count as a string', async () => {
    const tran_id = transactionId();
    const [one, other] = [await initiated({ tran_id }), await initiated({ tran_id })];
    expect((await store.query({ tran_id })).body).to.deep.equal({
      APIConnect: 'DONE',
      no_of_trans_found: '0',
      element: [],
    });
    simulator.fail(one.sessionkey);
    simulator.pay(one.sessionkey);
    simulator.cancel(other.sessionkey);
    const { body } = await store.query({ tran_id });
    expect(body).to.include({ APIConnect: 'DONE', no_of_trans_found: '3' });
    expect(body.element.map((each: { status: string }) => each.status)).to.deep.equal([
      'CANCELLED',
      'VALID',
      'FAILED',
    ]);
    expect((await store.initiate({ tran_id })).body).to.include({ status: 'FAILED' });
  });

  it('returns one session by its key', async () => {
    const { sessionkey } = await initiated();
    expect((await store.query({ sessionkey })).body).to.include({ APIConnect: 'DONE', status: 'PENDING' });
    simulator.pay(sessionkey);
    expect((await store.query({ sessionkey })).body).to.include({ status: 'VALID', sessionkey });
    expect((await store.query({ sessionkey: 'none' })).body).to.include({ status: 'INVALID_TRANSACTION' });
  });

  it('no longer confirms a reversed payment', async () => {
    const { sessionkey } = await initiated();
    simulator.pay(sessionkey);
    const { val_id: proof = '' } = await notification();
    simulator.reverse(sessionkey);
    expect((await store.validate(proof)).body).to.include({ status: 'INVALID_TRANSACTION' });
    expect((await store.query({ sessionkey })).body).to.include({ status: 'REVERSED' });
    expect(simulator.totals()).to.deep.equal({});
  });

  it('accepts one payment: its checkout is then closed', async () => {
    const { sessionkey } = await initiated();
    simulator.pay(sessionkey);
    expect(() => simulator.pay(sessionkey)).to.throw('checkout is closed');
    expect(() => simulator.cancel(sessionkey)).to.throw('checkout is closed');
    expect(() => simulator.pay('no-such')).to.throw('unknown payment "no-such"');
    expect(simulator.payments()[0]).to.include({ state: 'paid', executions: 1 });
  });
});

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
