// gateway_two as a merchant meets it.
import { expect } from 'chai';
import { type Simulator, startSimulator } from '../../../../cli/simulator/simulator.ts';
import { type Merchant, openMerchant, transactionId, walletOf } from '../merchant.ts';

const HOUR_MS = 3_600_000;

describe('the simulated gateway_two', () => {
  let simulator: Simulator;
  let merchant: Merchant;
  let wallet: ReturnType<typeof walletOf>;
  let now: number;
  beforeEach(async () => {
    now = 0;
    [simulator, merchant] = await Promise.all([
      startSimulator({ port: 0, grantsPerHour: 3, tokenLifetimeSeconds: 600, now: () => now }),
      openMerchant(),
    ]);
    wallet = walletOf(simulator, merchant);
  });
  afterEach(() => Promise.all([simulator.close(), merchant.close()]));

  const token = async (): Promise<string> => (await wallet.grant()).body.id_token;
  /** A token, and a payment created with it. */
  const created = async (fields: object = {}) => {
    const good = await token();
    const { body } = await wallet.create(good, fields);
    expect(body).to.include({ statusCode: '0000' });
    return { token: good, paymentId: body.paymentID as string, body };
  };

  it('grants tokens for the right account', async () => {
    const { status, body } = await wallet.grant();
    expect({ status, ...body }).to.include({ status: 200, statusCode: '0000', token_type: 'Bearer' });
    expect(body.id_token).to.be.a('string').with.length.above(20);
    const stranger = await wallet.grant({ headers: { password: 'wrong' } });
    expect(stranger).to.deep.equal({ status: 401, body: { message: 'Unauthorized' } });
    const { body: unknownApp } = await wallet.grant({ body: { app_secret: 'wrong' } });
    expect(unknownApp).to.deep.equal({ statusCode: '2001', statusMessage: 'Invalid App Key' });
  });

  it('returns the lifetime as a number or as a string', async () => {
    const lifetimes = [(await wallet.grant()).body.expires_in, (await wallet.grant()).body.expires_in];
    expect(lifetimes).to.deep.equal([600, '600']);
  });

  it('limits tokens per hour, and reports it with status 200', async () => {
    for (let count = 0; count < 3; count += 1) await token();
    const { status, body } = await wallet.grant();
    expect({ status, ...body })
      .to.include({ status: 200, errorCode: '2003' })
      .and.not.have.key('id_token');
    now += HOUR_MS;
    expect(await token()).to.be.a('string');
  });

  it('refuses unknown and expired tokens', async () => {
    const { token: good, paymentId } = await created();
    expect((await wallet.query(good, { paymentId })).status).to.equal(200);
    now += 600_000;
    const expired = { status: 401, body: { message: 'The incoming token has expired' } };
    expect(await wallet.query(good, { paymentId })).to.deep.equal(expired);
    expect(await wallet.create('invented')).to.deep.equal(expired);
    const headers = { authorization: await token(), 'x-app-key': 'wrong' };
    expect((await wallet.post('/create', headers, {})).body).to.include({ statusCode: '2001' });
  });

  it('creates a payment with a checkout page', async () => {
    const { paymentId, body } = await created({ merchantInvoiceNumber: 'INV1' });
    expect(body).to.include({
      bkashURL: `${simulator.urls.gateway_two}/checkout/${paymentId}`,
      transactionStatus: 'Initiated',
      amount: '100.00',
      currency: 'BDT',
      merchantInvoiceNumber: 'INV1',
    });
    expect((await fetch(body.bkashURL)).status).to.equal(200);
  });

  it('names the field that prevents a payment', async () => {
    const good = await token();
    const messageFor = async (fields: object) => (await wallet.create(good, fields)).body.statusMessage;
    expect(await messageFor({ payerReference: '' })).to.match(/payerReference/);
    expect(await messageFor({ mode: '0000' })).to.match(/mode/);
    expect(await messageFor({ intent: 'authorization' })).to.match(/intent/);
    expect(await messageFor({ callbackURL: 'ftp://merchant' })).to.match(/callbackURL/);
    expect(await messageFor({ amount: 100 })).to.match(/amount/);
    expect(await messageFor({ amount: '-1' })).to.equal('Invalid Amount');
    expect(simulator.payments()).to.deep.equal([]);
  });

  it('redirects the browser back with the payment id and the result', async () => {
    const returns = async (press: (ref: string) => void) => {
      const { paymentId } = await created();
      press(paymentId);
      await simulator.idle();
      const { method, path, fields } = merchant.received.at(-1) ?? {};
      expect({ method, path, ...fields }).to.include({
        method: 'GET',
        path: '/back',
        session_id: 'chs_1',
        paymentID: paymentId,
      });
      return fields?.['status'];
    };
    expect(await returns(simulator.pay)).to.equal('success');
    expect(await returns(simulator.fail)).to.equal('failure');
    expect(await returns(simulator.cancel)).to.equal('cancel');
  });

  it('does not redirect the browser twice, whatever the merchant answers', async () => {
    merchant.answer = (response) => void response.writeHead(503).end();
    simulator.pay((await created()).paymentId);
    await simulator.idle();
    expect(simulator.deliveries().map(({ status }) => status)).to.deep.equal([503]);
  });

  it('moves the money at execute, and only once', async () => {
    const { token: good, paymentId } = await created({ merchantInvoiceNumber: 'INV2' });
    expect((await wallet.execute(good, { paymentId })).body).to.include({ statusCode: '2056' });
    simulator.pay(paymentId);
    expect(simulator.totals()).to.deep.equal({});

    const { body } = await wallet.execute(good, { paymentId });
    const expected = { transactionStatus: 'Completed', amount: '100.00', merchantInvoiceNumber: 'INV2' };
    expect(body).to.include({ statusCode: '0000', paymentID: paymentId, currency: 'BDT', ...expected });
    expect((await wallet.execute(good, { paymentId })).body).to.include({ statusCode: '2062' });
    expect(simulator.payments()[0]).to.include({ state: 'paid', executions: 1, proof: body.trxID });
    expect(simulator.totals()).to.deep.equal({ BDT: 10_000n });
  });

  it('reports the state of a payment in its query', async () => {
    const { token: good, paymentId } = await created({ merchantInvoiceNumber: 'INV3', amount: '69.50' });
    const told = async () => (await wallet.query(good, { paymentId })).body;
    expect(await told()).to.include({ transactionStatus: 'Initiated', userVerificationStatus: 'Incomplete' });
    simulator.authorizeAndLeave(paymentId);
    expect(await told()).to.include({ transactionStatus: 'Initiated', userVerificationStatus: 'Complete' });
    const { trxID } = (await wallet.execute(good, { paymentId })).body;
    expect(await told()).to.include({
      ...{
        statusCode: '0000',
        transactionStatus: 'Completed',
        trxID,
        amount: '69.5',
        merchantInvoice: 'INV3',
      },
    });
    simulator.reverse(paymentId);
    expect(await told()).to.include({ transactionStatus: 'Reversed' });
    expect(merchant.received).to.deep.equal([]);
  });

  it('does not execute a failed or cancelled payment', async () => {
    const [failed, cancelled] = [await created(), await created()];
    simulator.fail(failed.paymentId);
    simulator.cancel(cancelled.paymentId);
    const codeOf = async ({ token: good, paymentId }: typeof failed) =>
      (await wallet.execute(good, { paymentId })).body.statusCode;
    expect([await codeOf(failed), await codeOf(cancelled)]).to.deep.equal(['2023', '2056']);
    expect(simulator.totals()).to.deep.equal({});
  });

  it('refuses a second payment of an invoice that may be paid', async () => {
    const merchantInvoiceNumber = transactionId();
    const { token: good, paymentId } = await created({ merchantInvoiceNumber });
    expect((await wallet.create(good, { merchantInvoiceNumber })).body).to.include({ statusCode: '0000' });
    simulator.pay(paymentId);
    expect((await wallet.create(good, { merchantInvoiceNumber })).body).to.include({ statusCode: '2029' });
  });

  it('accepts only one spelling of the payment id', async () => {
    const { token: good, paymentId } = await created();
    expect((await wallet.query(good, { paymentID: paymentId })).body).to.include({ statusCode: '2002' });
    await simulator.close();
    simulator = await startSimulator({ port: 0, paymentIdField: 'paymentID' });
    wallet = walletOf(simulator, merchant);
    const other = await created();
    const codeOf = async (body: object) => (await wallet.query(other.token, body)).body.statusCode;
    expect(await codeOf({ paymentId: other.paymentId })).to.equal('2002');
    expect(await codeOf({ paymentID: other.paymentId })).to.equal('0000');
  });
});
