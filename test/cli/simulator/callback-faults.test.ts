// Faults of callbacks on their way to the merchant.
import { expect } from 'chai';
import type { CALLBACK_FAULTS } from '../../../cli/simulator/faults.ts';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { until } from '../../support/until.ts';
import { type Merchant, openMerchant, storeOf, walletOf } from './merchant.ts';

describe('callback faults', () => {
  let simulator: Simulator;
  let merchant: Merchant;
  beforeEach(async () => {
    [simulator, merchant] = await Promise.all([startSimulator({ port: 0 }), openMerchant()]);
  });
  afterEach(() => Promise.all([simulator.close(), merchant.close()]));

  const checkout = async (tran_id: string): Promise<string> =>
    (await storeOf(simulator, merchant).initiate({ tran_id })).body.sessionkey;
  const ask = (kind: (typeof CALLBACK_FAULTS)[number], delayMs = 0) =>
    simulator.faults.add({ kind, operation: 'callback', delayMs });
  const received = (name: string) => merchant.received.map(({ fields }) => fields[name]);

  it('drop a callback with all its retries', async () => {
    ask('lost');
    simulator.pay(await checkout('LOST'));
    await simulator.idle();
    expect(merchant.received).to.deep.equal([]);
    expect(simulator.payments()[0]).to.include({ state: 'paid' });
  });

  it('delay a callback until after later ones', async () => {
    const [late, next] = [await checkout('LATE'), await checkout('NEXT')];
    ask('late', 500);
    simulator.pay(late);
    simulator.pay(next);
    await simulator.idle();
    expect(received('tran_id')).to.deep.equal(['NEXT', 'LATE']);
  });

  it('deliver a callback three times', async () => {
    ask('duplicated');
    simulator.pay(await checkout('THRICE'));
    await simulator.idle();
    expect(received('tran_id')).to.deep.equal(['THRICE', 'THRICE', 'THRICE']);
  });

  it('let the next callback overtake', async () => {
    ask('reordered');
    const session = await checkout('ORDER');
    simulator.fail(session);
    simulator.pay(session);
    await simulator.idle();
    expect(received('status')).to.deep.equal(['VALID', 'FAILED']);
  });

  it('send a forged callback first, with the opposite claim and no proof', async () => {
    ask('forged');
    simulator.pay(await checkout('PAID'));
    await simulator.idle();
    ask('forged');
    simulator.cancel(await checkout('CANCELLED'));
    await simulator.idle();
    expect(received('status')).to.deep.equal(['FAILED', 'VALID', 'VALID', 'CANCELLED']);
    expect(simulator.deliveries().map(({ forged }) => forged)).to.deep.equal([true, false, true, false]);
    const invented = received('val_id')[2] ?? '';
    const { body } = await storeOf(simulator, merchant).validate(invented);
    expect(body).to.include({ status: 'INVALID_TRANSACTION' });
  });

  it('forge a callback on request, for either gateway', async () => {
    const wallet = walletOf(simulator, merchant);
    const { body } = await wallet.create((await wallet.grant()).body.id_token);
    await simulator.forge(body.paymentID, 'paid');
    await simulator.forge(await checkout('FORGED'), 'failed');
    expect(received('status')).to.deep.equal(['success', 'FAILED']);
    expect(simulator.payments().map(({ state }) => state)).to.deep.equal(['initiated', 'initiated']);
  });

  it('end with the simulator', async () => {
    ask('late', 60_000);
    simulator.pay(await checkout('NEVER'));
    merchant.answer = () => {}; // hangs
    simulator.pay(await checkout('HANGING'));
    await until(() => merchant.received.length === 1, 'a callback is under way');
    await simulator.close();
    await simulator.idle();
    expect(received('tran_id')).to.deep.equal(['HANGING']);
  });
});
