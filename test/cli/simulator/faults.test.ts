// Each fault affects a response as its name says, and leaves the provider's records unchanged.
import { expect } from 'chai';
import { ANSWER_FAULTS, createFaults, type FaultKind } from '../../../cli/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { until } from '../../support/until.ts';
import { type Merchant, openMerchant, storeOf, walletOf } from './merchant.ts';

/** What a client gets that waits `timeoutMs` and follows no redirects. */
type Raw = {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly location: string;
};

async function raw(url: string, init: RequestInit = {}, timeoutMs = 5_000): Promise<Raw> {
  const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
  const { status, headers } = response;
  const [type, location] = [headers.get('content-type') ?? '', headers.get('location') ?? ''];
  return { status, type, location, body: await response.text() };
}

/** The name of the error that a call ends with. */
async function failureOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'none',
    (error: Error) => error.name,
  );
}

describe('faults of responses', () => {
  let simulator: Simulator;
  let merchant: Merchant;
  let paymentId: string;
  let execute: (timeoutMs?: number) => Promise<Raw>;
  beforeEach(async () => {
    [simulator, merchant] = await Promise.all([startSimulator({ port: 0 }), openMerchant()]);
    const wallet = walletOf(simulator, merchant);
    const token = (await wallet.grant()).body.id_token;
    paymentId = (await wallet.create(token)).body.paymentID;
    simulator.authorizeAndLeave(paymentId);
    const headers = { authorization: token, 'x-app-key': simulator.credentials.gateway_two.appKey };
    execute = (timeoutMs) =>
      raw(
        `${simulator.urls.gateway_two}/execute`,
        { method: 'POST', headers, body: JSON.stringify({ paymentId }) },
        timeoutMs,
      );
  });
  afterEach(() => Promise.all([simulator.close(), merchant.close()]));

  const executions = () => simulator.payments()[0]?.executions;
  const ask = (kind: FaultKind) => simulator.faults.add({ kind, operation: 'gateway_two.execute' });

  it('time out before and after the payment', async () => {
    ask('timeout_before');
    expect(await failureOf(execute(100))).to.equal('TimeoutError');
    expect(executions()).to.equal(0);
    ask('timeout_after');
    expect(await failureOf(execute(100))).to.equal('TimeoutError');
    expect(executions()).to.equal(1);
  });

  it('return 500, a page or a redirect, and do nothing', async () => {
    ask('error_500');
    expect(await execute()).to.include({ status: 500 });
    ask('html');
    const page = await execute();
    expect(page).to.include({ status: 200, type: 'text/html' });
    expect(page.body).to.match(/^<!doctype html>/);
    ask('redirect');
    expect(await execute()).to.include({ status: 302, location: '/elsewhere' });
    expect(simulator.followedRedirects()).to.equal(0);
    await fetch(`${simulator.url}/elsewhere`);
    expect(simulator.followedRedirects()).to.equal(1);
    ask('dropped');
    expect(await failureOf(execute())).to.equal('TypeError');
    expect(executions()).to.equal(0);
  });

  it('return an empty response after performing the request', async () => {
    ask('empty');
    expect(await execute()).to.include({ status: 200, body: '' });
    expect(executions()).to.equal(1);
  });

  it('truncate the body after performing the request', async () => {
    ask('truncated');
    expect(await failureOf(execute())).to.equal('TypeError');
    expect(executions()).to.equal(1);
  });

  it('send 100 MB, and stop when the client disconnects', async () => {
    ask('huge');
    const { body } = await execute(50_000);
    expect(body.length).to.be.above(100 * 1024 * 1024);
    ask('huge');
    const response = await fetch(`${simulator.urls.gateway_two}/execute`, { method: 'POST' });
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value?.length).to.be.above(0);
    await reader?.cancel();
    expect((await execute()).status).to.equal(200);
  });

  it('report another amount, currency or transaction once, and the truth afterwards', async () => {
    const store = storeOf(simulator, merchant);
    const { body } = await store.initiate({ tran_id: 'TRUE' });
    simulator.pay(body.sessionkey);
    const query = async () => (await store.query({ tran_id: 'TRUE' })).body.element[0];
    const truth = await query();
    const lie = async (kind: FaultKind) => {
      simulator.faults.add({ kind, operation: 'gateway_one.query', ref: 'TRUE' });
      return query();
    };
    expect(await lie('wrong_amount')).to.deep.equal({ ...truth, amount: '1100', currency_amount: '1100.00' });
    expect(await lie('wrong_currency')).to.deep.equal({ ...truth, currency: 'EUR', currency_type: 'EUR' });
    expect(await lie('wrong_transaction')).to.deep.equal({ ...truth, tran_id: 'XRUEX' });
    expect(await query()).to.deep.equal(truth);
    expect(simulator.totals()).to.deep.equal({ BDT: 10_000n });
  });

  it('expire a token permanently', async () => {
    ask('expired_token');
    expect(await execute()).to.include({ status: 401 });
    expect(await execute()).to.include({ status: 401 });
    expect(executions()).to.equal(0);
  });

  it('refuse a token grant for its rate', async () => {
    const wallet = walletOf(simulator, merchant);
    simulator.faults.add({ kind: 'rate_limited_grant' });
    expect((await wallet.grant()).body).to.include({ errorCode: '2003' });
    expect((await wallet.grant()).body).to.include({ statusCode: '0000' });
  });

  it('delay every response', async () => {
    simulator.setLatency(60_000);
    expect(await failureOf(execute(100))).to.equal('TimeoutError');
    simulator.setLatency(0);
    expect((await execute()).status).to.equal(200);
  });

  for (const how of ['refused', 'dropped'] as const) {
    it(`make the providers unreachable for a time: connections are ${how}`, async () => {
      simulator.down(300, how);
      expect(await failureOf(execute())).to.equal('TypeError');
      await until(async () => (await failureOf(execute())) === 'none', 'the providers are back');
      expect(executions()).to.equal(1);
    });
  }

  it('end with the simulator, also during an outage', async () => {
    ask('timeout_before');
    const hanging = failureOf(execute());
    await until(() => simulator.faults.events().length === 1, 'the call hangs');
    simulator.down(60_000, 'refused');
    await simulator.close();
    expect(await hanging).to.equal('TypeError');
  });

  it('affect the given payment the given number of times, and are recorded', async () => {
    simulator.faults.add({ kind: 'error_500', ref: 'another' });
    simulator.faults.add({ kind: 'error_500', ref: paymentId, times: 2 });
    const statuses = [await execute(), await execute(), await execute()].map(({ status }) => status);
    expect(statuses).to.deep.equal([500, 500, 200]);
    const event = { kind: 'error_500', operation: 'gateway_two.execute', ref: paymentId };
    expect(simulator.faults.events()).to.deep.equal([event, event]);
  });

  it('are refused for operations that do not support them', () => {
    const wrong = { kind: 'lost', operation: 'gateway_two.execute' } as const;
    expect(() => simulator.faults.add(wrong)).to.throw('lost cannot affect gateway_two.execute');
  });
});

describe('the random plan', () => {
  const drawn = (seed: number, rate: number, kinds?: readonly FaultKind[]) => {
    const faults = createFaults({ seed, rate, ...(kinds && { kinds }) });
    return Array.from({ length: 1_000 }, () => faults.take('gateway_one.initiate', undefined)?.kind);
  };
  const count = (kinds: readonly unknown[]) => kinds.filter((kind) => kind !== undefined).length;

  it('is the same for the same seed, and differs for another', () => {
    expect(drawn(7, 0.3)).to.deep.equal(drawn(7, 0.3));
    expect(drawn(7, 0.3)).not.to.deep.equal(drawn(8, 0.3));
  });

  it('respects the rate and the faults that an operation supports', () => {
    expect(count(drawn(7, 0))).to.equal(0);
    expect(count(drawn(7, 1))).to.equal(1_000);
    expect(count(drawn(7, 0.1))).to.be.within(60, 140);
    expect([...new Set(drawn(7, 1))].sort()).to.deep.equal([...ANSWER_FAULTS].sort());
    expect(new Set(drawn(7, 1, ['html', 'lost']))).to.deep.equal(new Set(['html']));
  });

  it('stops after clear', () => {
    const faults = createFaults({ seed: 1, rate: 1 });
    faults.add({ kind: 'html' });
    faults.clear();
    expect(faults.take('gateway_one.query', undefined)).to.equal(undefined);
  });
});
