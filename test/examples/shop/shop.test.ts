// The shop of examples/shop sells licenses through each gateway, with a token that can do nothing else.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { createShop } from '../../../examples/shop/shop.ts';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import { GATEWAYS, SLOTS } from '../../support/hub/payment.ts';
import { createOffer, type Sales, startSales } from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';
import { asSuperuser, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

describe('the example shop', () => {
  let sales: Sales;
  let shop: Server;
  let url: string;
  before(async () => {
    sales = await startSales();
    const { hub } = sales.payments;
    const offer = await createOffer(sales, 'pro');
    const slots = Object.values(SLOTS);
    const tokens = createClient(TokenService, hub.transport);
    const { token } = await tokens.createToken({ role: Role.SHOP, apps: [sales.app], slots });
    shop = createShop({ rpcUrl: hub.rpcUrl, gatewayUrl: hub.gatewayUrl, token, offer, slots });
    shop.listen(0, '127.0.0.1');
    await once(shop, 'listening');
    url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  });
  after(async () => {
    shop.closeAllConnections();
    shop.close();
    await sales.stop();
  });

  const read = async (path: string, cookie = '') => (await fetch(url + path, { headers: { cookie } })).text();

  const buy = async (slot: string, email = 'ada@example.com'): Promise<Response> => {
    const body = new URLSearchParams({ slot, currency: 'BDT', email });
    return fetch(`${url}/buy`, { method: 'POST', body, redirect: 'manual' });
  };
  const pay = (checkout: string) =>
    sales.payments.simulator.pay(new URL(checkout).pathname.split('/').at(-1) ?? '');

  it('says what is wrong with the form, and nothing of the response of the hub', async () => {
    const refused = await buy(SLOTS.gateway_one, 'nobody');
    expect(refused.status).to.equal(500);
    expect(await refused.text())
      .to.contain('must be an email address')
      .and.not.contain('{');
  });

  it('asks for patience if a paid order is blocked, and then shows the key', async () => {
    const alter = (text: string) =>
      query(asSuperuser(sales.payments.hub.databaseUrl), `alter table license ${text}`);
    const bought = await buy(SLOTS.gateway_one);
    const [cookie = ''] = bought.headers.get('set-cookie')?.split(';') ?? [];
    await alter('add constraint refuse_all check (false) not valid');
    try {
      pay(bought.headers.get('location') ?? '');
      await until(
        async () => (await read('/thanks', cookie)).includes('key will follow'),
        'the order is blocked',
      );
    } finally {
      await alter('drop constraint refuse_all');
    }
    const { orders } = await sales.orders.listOrders({ state: OrderState.BLOCKED });
    await sales.orders.retryOrder({ order: orders[0]?.orderId ?? '' });
    expect(await read('/thanks', cookie)).to.contain('<code>');
  });

  for (const gateway of GATEWAYS) {
    it(`shows the customer of ${gateway} a key that activates`, async () => {
      expect(await read('/'))
        .to.contain('Pro')
        .and.contain('BDT')
        .and.contain(SLOTS[gateway]);
      const bought = await buy(SLOTS[gateway]);
      expect(bought.status).to.equal(303);
      const [cookie = ''] = bought.headers.get('set-cookie')?.split(';') ?? [];
      expect(await read('/thanks', cookie)).to.contain('Waiting');

      const { hub } = sales.payments;
      pay(bought.headers.get('location') ?? '');
      let page = '';
      await until(async () => {
        page = await read('/thanks', cookie);
        return page.includes('<code>');
      }, 'the shop shows a key');
      const [licenseKey = ''] = /(?<=<code>)[^<]+/.exec(page) ?? [];
      expect((await activate(hub.gatewayUrl, licenseKey, 'machine')).status).to.equal(200);
      expect(await read('/thanks', 'customer=another')).to.contain('bought nothing');
    });
  }
});
