// What a browser is shown by the simulator, read without one.
import { expect } from 'chai';
import { type Simulator, startSimulator } from '../../../../cli/simulator/simulator.ts';
import { type Merchant, openMerchant, storeOf, walletOf } from '../merchant.ts';

describe('the pages of the simulator', () => {
  let simulator: Simulator;
  let merchant: Merchant;
  beforeEach(async () => {
    [simulator, merchant] = await Promise.all([startSimulator({ port: 0 }), openMerchant()]);
  });
  afterEach(() => Promise.all([simulator.close(), merchant.close()]));

  const page = async (url: string, body?: string) => {
    const response = await fetch(url, body === undefined ? {} : { method: 'POST', body });
    return { status: response.status, html: await response.text() };
  };

  it('list the open payments with links to their checkouts', async () => {
    expect((await page(simulator.url)).html).to.contain('No payment is open');
    const { body } = await storeOf(simulator, merchant).initiate({ tran_id: 'T1', product_name: '<b>1</b>' });
    const { status, html } = await page(simulator.url);
    expect(status).to.equal(200);
    expect(html).to.contain('Open payments: 1').and.contain('&lt;b&gt;1&lt;/b&gt;');
    const [, link] = /<a href="([^"]+)"/.exec(html) ?? [];
    expect(`${simulator.url}${link}`).to.equal(body.GatewayPageURL);
    simulator.pay('T1');
    expect((await page(simulator.url)).html).to.contain('No payment is open');
  });

  it('report that an action has no effect', async () => {
    const { body } = await storeOf(simulator, merchant).initiate({ tran_id: 'T1' });
    const odd = await page(body.GatewayPageURL, 'press=odd');
    expect(odd.status).to.equal(400);
    expect(odd.html).to.contain('Unknown button').and.contain('pay, fail, cancel');
    simulator.pay('T1');
    const late = await page(body.GatewayPageURL, 'press=fail');
    expect(late.status).to.equal(409);
    expect(late.html).to.contain('Nothing has changed').and.contain('is paid');
  });

  it('show the payer for gateway_two, and no order', async () => {
    const wallet = walletOf(simulator, merchant);
    const { body } = await wallet.create((await wallet.grant()).body.id_token);
    const { html } = await page(body.bkashURL);
    expect(html).to.contain('<dt>Payer</dt>').and.not.to.contain('<dt>Order</dt>');
  });
});
