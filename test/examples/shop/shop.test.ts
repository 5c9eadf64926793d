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
import { formatDecimal, MINOR_DIGITS } from '../../../lib/presentation/money.ts';
import { GATEWAYS, SLOTS } from '../../support/hub/payment.ts';
import { createOffer, type Sales, startSales } from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';
import { asSuperuser, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

const PRICE = 123_456_789n;
/** An offer has at most so many prices. */
const MAX_PRICES = 20;
/** All that the hub accepts. */
const CURRENCIES = [...new Set([...Intl.supportedValuesOf('currency'), ...MINOR_DIGITS.keys()])];

describe('the example shop', () => {
  let sales: Sales;
  let token: string;
  let url: string;
  const shops: Server[] = [];
  before(async () => {
    sales = await startSales();
    const tokens = createClient(TokenService, sales.payments.hub.transport);
    const slots = Object.values(SLOTS);
    ({ token } = await tokens.createToken({ role: Role.SHOP, apps: [sales.app], slots }));
    url = await open(await createOffer(sales, 'pro'));
  });
  after(async () => {
    for (const shop of shops) {
      shop.closeAllConnections();
      shop.close();
    }
    await sales.stop();
  });

  /** Opens a shop that sells an offer. */
  const open = async (offer: string): Promise<string> => {
    const { rpcUrl, gatewayUrl } = sales.payments.hub;
    const shop = createShop({ rpcUrl, gatewayUrl, token, offer, slots: Object.values(SLOTS) });
    shops.push(shop);
    shop.listen(0, '127.0.0.1');
    await once(shop, 'listening');
    return `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  };

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

  it('does not sell an archived offer, also if it is archived while the customer sees the page', async () => {
    const offer = await createOffer(sales, 'retired');
    const shop = await open(offer);
    expect(await (await fetch(shop)).text()).to.contain('Pay with');
    await sales.offers.archiveOffer({ offer });
    const body = new URLSearchParams({ slot: SLOTS.gateway_one, currency: 'BDT', email: 'ada@example.com' });
    for (const refused of [await fetch(`${shop}/buy`, { method: 'POST', body }), await fetch(shop)]) {
      expect(refused.status, refused.url).to.equal(410);
      expect(refused.headers.get('content-type')).to.contain('text/html');
      expect(await refused.text())
        .to.contain('no longer for sale')
        .and.not.contain('Pay with');
    }
    await sales.offers.unarchiveOffer({ offer });
    expect(await (await fetch(shop)).text()).to.contain('Pay with');
  });

  it('shows the price in each currency with as many decimals as the hub', async () => {
    const shown: Record<string, string> = {};
    for (let at = 0; at < CURRENCIES.length; at += MAX_PRICES) {
      const currencies = CURRENCIES.slice(at, at + MAX_PRICES);
      const prices = currencies.map((currency) => ({ currency, minorUnits: PRICE }));
      const offer = await createOffer(sales, `world-${at}`, { prices });
      const page = await (await fetch(await open(offer))).text();
      for (const [, currency = '', price = ''] of page.matchAll(/<option value=(\w+)>([^<]+)/g)) {
        shown[currency] = (/\d[\d,.]*$/.exec(price)?.[0] ?? '').replaceAll(',', '');
      }
    }
    const expected = CURRENCIES.map((currency) => [currency, formatDecimal(PRICE, currency)]);
    expect(shown).to.deep.equal(Object.fromEntries(expected));
    expect(shown).to.deep.include({ HUF: '1234567.89', IQD: '123456.789', JPY: '123456789' });
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
