// The control interface, as a test in another process uses it.
import { request } from 'node:http';
import { expect } from 'chai';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { type Merchant, openMerchant, storeOf, walletOf } from './merchant.ts';

describe('the control interface', () => {
  let simulator: Simulator;
  let merchant: Merchant;
  beforeEach(async () => {
    [simulator, merchant] = await Promise.all([startSimulator({ port: 0 }), openMerchant()]);
  });
  afterEach(() => Promise.all([simulator.close(), merchant.close()]));

  const command = async (name: string, input: object = {}) => {
    const response = await fetch(`${simulator.url}/_control/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
    });
    // biome-ignore lint/suspicious/noExplicitAny: any JSON, which assertions look at
    const answer: any = await response.json();
    return { status: response.status, ...answer };
  };
  const initiate = (tran_id: string) => storeOf(simulator, merchant).initiate({ tran_id });

  it("performs the customer's actions by either id, and returns the totals", async () => {
    const { body } = await initiate('ONE');
    await initiate('TWO');
    await initiate('THREE');
    expect(await command('pay', { ref: body.sessionkey })).to.deep.equal({ status: 200, ok: true });
    await command('fail', { ref: 'TWO' });
    await command('cancel', { ref: 'THREE' });
    const { payments } = await command('payments');
    expect(payments.map(({ state }: { state: string }) => state)).to.deep.equal([
      'paid',
      'failed',
      'cancelled',
    ]);
    expect(payments[0]).to.include({
      gateway: 'gateway_one',
      ref: body.sessionkey,
      merchantTransactionId: 'ONE',
      amount: '100.00',
      amountMinor: '10000',
      currency: 'BDT',
      executions: 1,
    });
    expect(await command('totals')).to.deep.include({ totals: { BDT: '10000' } });
    await command('idle');
    expect((await command('deliveries')).deliveries).to.have.length(3);
    await command('reverse', { ref: 'ONE' });
    expect(await command('totals')).to.deep.include({ totals: {} });
  });

  it('pays all open payments', async () => {
    for (const id of ['A', 'B', 'C']) await initiate(id);
    await command('pay', { ref: 'A' });
    expect(await command('pay-all')).to.include({ paid: 2 });
    expect(simulator.totals()).to.deep.equal({ BDT: 30_000n });
  });

  it('authorizes and closes the tab', async () => {
    const wallet = walletOf(simulator, merchant);
    const { body } = await wallet.create((await wallet.grant()).body.id_token);
    await command('leave', { ref: body.paymentID });
    expect(simulator.payments()[0]).to.include({ state: 'authorized' });
  });

  it('injects, plans and clears faults', async () => {
    await command('fault', { kind: 'error_500', operation: 'gateway_one.initiate', times: 1 });
    expect((await initiate('A')).status).to.equal(500);
    expect((await command('faults')).events).to.have.length(1);
    await command('plan', { seed: 1, rate: 1, kinds: ['error_500'] });
    expect((await initiate('B')).status).to.equal(500);
    await command('clear');
    expect((await initiate('C')).status).to.equal(200);
    await command('forge', { ref: 'C', claim: 'paid' });
    expect(merchant.received[0]?.fields).to.include({ status: 'VALID' });
  });

  it('answers while the providers are unreachable', async () => {
    expect(await command('down', { ms: 60_000 })).to.include({ ok: true });
    const failed = await initiate('A').catch((error: Error) => error.name);
    expect(failed).to.equal('TypeError');
    expect(await command('down', { ms: 0 })).to.include({ ok: true });
  });

  it('lists its commands and faults', async () => {
    const response = await fetch(`${simulator.url}/_control`);
    const { commands, faults, claims } = JSON.parse(await response.text());
    expect(commands['POST pay']).to.equal('{ref}: the customer pays, or authorizes with gateway_two');
    expect(faults['gateway_two.grant']).to.include('rate_limited_grant');
    expect(claims).to.deep.equal(['paid', 'failed', 'cancelled']);
  });

  it('explains what is wrong with a command', async () => {
    const complaint = async (name: string, input: object = {}) => {
      const { status, ok, error } = await command(name, input);
      expect(ok).to.equal(false);
      return `${status} ${error}`;
    };
    expect(await complaint('nothing')).to.match(/^404 there is no nothing: payments, totals/);
    expect(await complaint('pay')).to.equal('409 ref must be a text');
    expect(await complaint('pay', { ref: 'none' })).to.equal('409 unknown payment "none"');
    expect(await complaint('fault', { kind: 'none' })).to.match(/^409 kind must be one of timeout_before/);
    expect(await complaint('plan', { seed: 1, rate: 2 })).to.equal('409 rate must be a number from 0 to 1');
    expect(await complaint('latency', { ms: -1 })).to.match(/^409 ms must be a whole number from 0/);
  });

  it('refuses web pages, by origin and by host name', async () => {
    const url = `${simulator.url}/_control/pay-all`;
    const statusOf = (headers: Record<string, string>, method = 'POST') =>
      new Promise((resolve, reject) => {
        request(url, { method, headers }, (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end();
      });
    const json = { 'content-type': 'application/json' };
    expect(await statusOf(json)).to.equal(200);
    expect(await statusOf({ ...json, host: 'localhost:5098' })).to.equal(200);
    expect(await statusOf({ ...json, host: 'evil.example' })).to.equal(403);
    expect(await statusOf({ ...json, host: '127.0.0.1.evil.example' })).to.equal(403);
    expect(await statusOf({ 'content-type': 'text/plain' })).to.equal(403);
    expect(await statusOf(json, 'GET')).to.equal(403);
  });
});
