// The hub's own pages of offers and orders over HTTP.
import { expect } from 'chai';
import { parseId } from '../../../core/ids.ts';
import { startHub } from '../../support/hub/hub.ts';
import { callBack, callbackFields, pay, SLOTS } from '../../support/hub/payment.ts';
import { createOffer, orderOf, type Sales, startSales } from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';

const NASTY = `"><script>alert(1)</script>&amp;'`;

describe("the hub's own pages", () => {
  let sales: Sales;
  let url: string;
  before(async () => {
    const settings = { trustedProxies: ['127.0.0.1'], licenseRatePerMinute: 10_000, wrongGuesses: 3 };
    sales = await startSales({ settings });
    url = sales.payments.hub.gatewayUrl;
    await createOffer(sales, 'pro', {
      pageSlot: SLOTS.gateway_one,
      downloadUrl: 'https://example.com/download?a=1&b="2"',
    });
    await createOffer(sales, 'nasty', { name: NASTY, pageSlot: SLOTS.gateway_two });
    await createOffer(sales, 'single', {
      pageSlot: SLOTS.gateway_one,
      prices: [{ minorUnits: 500n, currency: 'JPY' }],
    });
    await createOffer(sales, 'elsewhere');
  });
  after(() => sales.stop());

  type Shown = { readonly status: number; readonly headers: Headers; readonly text: string };
  let clients = 0;
  const ask = async (
    path: string,
    { headers, ...init }: RequestInit & { headers?: Record<string, string> } = {},
    at = url,
  ): Promise<Shown> => {
    const response = await fetch(at + path, {
      redirect: 'manual',
      ...init,
      headers: { 'x-forwarded-for': `198.51.100.${++clients}`, ...headers },
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const buying = (
    fields: Record<string, string>,
    headers: Record<string, string> = {},
    offer = 'pro',
    at = url,
  ) =>
    ask(
      `/buy/${sales.app}/${offer}`,
      { method: 'POST', body: new URLSearchParams(fields), headers: { origin: at, ...headers } },
      at,
    );
  const ADA = { email: 'ada@example.com', name: 'Ada Lovelace', currency: 'BDT' };

  type Purchase = {
    readonly sessionId: string;
    readonly cookie: string;
    readonly setCookie: string;
    readonly checkout: string;
  };
  const purchaseIn = ({ status, headers, text }: Shown): Purchase => {
    expect([status, text]).to.deep.equal([303, '']);
    const setCookie = headers.get('set-cookie') ?? '';
    const [, cookie = '', sessionId = ''] =
      /^(hub_claim=claim_[\w-]{43}); Path=\/.*(chs_\w{26});/.exec(setCookie) ?? [];
    return { sessionId, cookie, setCookie, checkout: headers.get('location') ?? '' };
  };
  const orderAt = ({ sessionId, cookie }: Purchase, query = ''): Promise<Shown> =>
    ask(`/orders/${sessionId}${query}`, { headers: { cookie: `a=b; ${cookie}; c=d` } });
  const sessionOf = async ({ sessionId }: Purchase) => {
    const { session } = await sales.payments.sessions.getChargeSession({ sessionId });
    if (session === undefined) throw new Error('the session is gone');
    return session;
  };

  it('show an offer that names a slot for the page, and no other', async () => {
    const { status, headers, text } = await ask(`/buy/${sales.app}/pro`);
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/html; charset=utf-8']);
    expect(text).to.contain('100.00 BDT').and.contain('9.00 USD').and.contain('Pro');
    expect((await ask(`/buy/${sales.app}/single`)).text).to.contain('500 JPY');
    await createOffer(sales, 'archived', { pageSlot: SLOTS.gateway_one });
    await sales.offers.archiveOffer({ offer: `${sales.app}/archived` });
    for (const path of ['elsewhere', 'archived', 'none', '%2F', `pro%2Fpro`, NASTY.replace('/', '')]) {
      const missing = await ask(`/buy/${sales.app}/${encodeURIComponent(path)}`);
      expect(missing.status, path).to.equal(404);
      expect(missing.headers.get('content-type')).to.equal('text/html; charset=utf-8');
      expect(missing.text).not.to.contain('<script');
    }
    const refused = await ask(`/buy/${sales.app}/pro`, { method: 'DELETE' });
    expect([refused.status, refused.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, POST']);
  });

  it('load nothing, may not be framed or cached, and escape all texts', async () => {
    const bought = purchaseIn(await buying(ADA));
    const waiting = await orderAt(bought);
    await pay(sales.payments, await sessionOf(bought));
    for (const page of [
      await ask(`/buy/${sales.app}/nasty`),
      waiting,
      await orderAt(bought),
      await ask('/orders/x'),
    ]) {
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).to.contain("default-src 'none'").and.contain("frame-ancestors 'none'");
      expect(policy).not.to.match(/unsafe|\*/);
      expect(page.headers.get('cache-control')).to.equal('no-store');
      expect(page.headers.get('referrer-policy')).to.match(/^(no-referrer|same-origin)$/);
      expect(page.text).not.to.match(/<(link|img|iframe)|src=|alert\(1\)<\/script>/);
    }
    const { text } = await ask(`/buy/${sales.app}/nasty`);
    expect(text).to.contain('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;&#39;');
    const again = await buying({ ...ADA, email: NASTY, name: NASTY });
    expect(again.status).to.equal(400);
    expect(again.text).to.contain('value="&quot;&gt;&lt;script&gt;').and.not.contain('<script>alert');
    expect((await orderAt(bought)).text).to.contain(
      'href="https://example.com/download?a=1&amp;b=&quot;2&quot;"',
    );
  });

  it('start a purchase: the checkout, and the claim in a cookie of the order page', async () => {
    const bought = purchaseIn(
      await buying({ ...ADA, currency: 'USD' }, { 'accept-language': 'bn-BD,en;q=0.5' }),
    );
    expect(bought.checkout).to.contain(sales.payments.tap.url.replace(/:\d+$/, ''));
    expect(bought.checkout).not.to.contain('claim');
    expect(bought.setCookie).to.match(/; Path=\/orders\/chs_\w{26}; Max-Age=\d+; HttpOnly; SameSite=Lax$/);
    const session = await sessionOf(bought);
    expect(session).to.deep.include({ slot: SLOTS.gateway_one, language: 'bn-BD', returnUrl: '' });
    expect(session.amount).to.include({ minorUnits: 900n, currency: 'USD' });
    expect(session.customer).to.include({ name: 'Ada Lovelace', email: 'ada@example.com' });
  });

  it('keep the cookie to https and to the public path if the hub has such a public URL', async () => {
    const publicUrl = 'https://hub.example/licenses/';
    const behind = await startHub({ beside: sales.payments.hub, settings: { publicUrl } });
    try {
      const origin = 'https://hub.example';
      const { setCookie } = purchaseIn(await buying(ADA, { origin }, 'pro', behind.gatewayUrl));
      expect(setCookie).to.match(/; Path=\/licenses\/orders\/chs_\w{26}; .*; Secure$/);
    } finally {
      await behind.stop();
    }
  });

  it('refuse forms of other sites', async () => {
    const before = (await sales.payments.sessions.listChargeSessions({})).sessions.length;
    for (const origin of [
      'https://evil.example',
      'null',
      `${url}.evil.example`,
      url.replace(/\d+$/, '1'),
      'x',
    ]) {
      const { status, text, headers } = await buying(ADA, { origin });
      expect(status, origin).to.equal(403);
      expect(text).to.contain('another site');
      expect(headers.get('set-cookie')).to.equal(null);
    }
    const body = new URLSearchParams(ADA);
    for (const site of ['cross-site', 'same-site', 'none']) {
      const headers = { 'sec-fetch-site': site };
      expect((await ask(`/buy/${sales.app}/pro`, { method: 'POST', body, headers })).status, site).to.equal(
        403,
      );
    }
    expect((await sales.payments.sessions.listChargeSessions({})).sessions.length).to.equal(before);
  });

  it('show the form again with what is wrong in it', async () => {
    for (const [fields, wrong] of [
      [{ ...ADA, email: 'ada' }, 'Write an email address'],
      [{ ...ADA, email: '' }, 'Write an email address'],
      [{ name: 'Ada' }, 'Write an email address'],
      [{ ...ADA, name: 'x'.repeat(201) }, 'Write a name'],
      [{ ...ADA, name: 'Ada\r\nX: 1' }, 'Write a name'],
      [{ ...ADA, currency: 'EUR' }, 'Choose one of the prices.'],
      [{ ...ADA, currency: 'EURO' }, 'Choose one of the prices.'],
      [{ ...ADA, currency: '' }, 'Choose one of the prices.'],
    ] as const) {
      const { status, text } = await buying({ ...fields });
      expect(status, JSON.stringify(fields)).to.equal(400);
      expect(text).to.contain(wrong).and.contain('<form');
    }
    const json = await ask(`/buy/${sales.app}/pro`, { method: 'POST', body: '{}', headers: { origin: url } });
    expect(json.status).to.equal(415);
    expect((await buying(ADA, {}, 'elsewhere')).status).to.equal(404);
  });

  it('limit the purchases of a client', async () => {
    const client = { 'x-forwarded-for': '203.0.113.9' };
    for (let count = 0; count < 20; count++) {
      expect((await buying({ ...ADA, email: '' }, client)).status).to.equal(400);
    }
    const refused = await buying(ADA, client);
    expect(refused.status).to.equal(429);
    expect(refused.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(Number(refused.headers.get('retry-after'))).to.be.greaterThan(0);
    expect((await buying(ADA)).status).to.equal(303);
  });

  it('say so if the checkout cannot be created', async () => {
    sales.payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.initiate' });
    const { status, headers, text } = await buying(ADA);
    expect([status, headers.get('set-cookie')]).to.deep.equal([503, null]);
    expect(text).to.contain('Try again');
  });

  it('wait for the payment, then show the key', async () => {
    const bought = purchaseIn(await buying(ADA));
    const waiting = await orderAt(bought);
    expect(waiting.status).to.equal(200);
    expect(waiting.text).to.contain('Waiting for your payment').and.contain('url=?looks=1"');
    expect((await orderAt(bought, '?looks=7')).text).to.contain('url=?looks=8"');
    for (const looks of ['60', '99999', '1e9']) {
      expect((await orderAt(bought, `?looks=${looks}`)).text).not.to.contain('http-equiv');
    }
    expect((await orderAt(bought, '?looks=%22%3E%3Cb%3E')).text).to.contain('url=?looks=1"');
    await pay(sales.payments, await sessionOf(bought));
    const { status, text } = await orderAt(bought);
    const [, key = ''] = /<code class="key" id="key-0">([\w-]+)<\/code>/.exec(text) ?? [];
    expect(status).to.equal(200);
    expect((await activate(url, key, 'machine')).status).to.equal(200);
    expect(text).to.contain((await orderOf(sales, bought.sessionId)).orderId);
  });

  it('tell a customer who did not pay', async () => {
    for (const [claim, title] of [
      ['failed', 'The payment failed'],
      ['cancelled', 'The payment was cancelled'],
    ] as const) {
      const bought = purchaseIn(await buying(ADA));
      await callBack(url, 'gateway_one', callbackFields(await sessionOf(bought), claim));
      expect((await orderAt(bought)).text).to.contain(title);
    }
  });

  it('say that a blocked order has reached the vendor', async () => {
    const bought = purchaseIn(await buying(ADA));
    await pay(sales.payments, await sessionOf(bought));
    const { orderId } = await orderOf(sales, bought.sessionId);
    const { databaseUrl } = sales.payments.hub;
    await query(databaseUrl, 'delete from order_license where order_id = $1', [parseId('ord', orderId)]);
    await query(
      databaseUrl,
      `update sales_order set state = 'blocked', reason = 'secret reason' where id = $1`,
      [parseId('ord', orderId)],
    );
    const { text } = await orderAt(bought);
    expect(text).to.contain('The vendor has been told').and.contain(orderId).and.not.contain('secret reason');
  });

  it('show nothing of an order without its cookie, whether or not it exists', async () => {
    const [bought, other] = [purchaseIn(await buying(ADA)), purchaseIn(await buying(ADA))];
    await pay(sales.payments, await sessionOf(bought));
    const pages = [
      await ask(`/orders/${bought.sessionId}`),
      await ask('/orders/chs_01k8e7qk3vf2tb5s0w9m4x6ydz'),
      await orderAt({ ...bought, cookie: other.cookie }),
      await orderAt({ ...bought, cookie: 'hub_claim=' }),
      await orderAt({ ...bought, cookie: `hub_claim=${'x'.repeat(5_000)}` }),
      await orderAt({ ...other, sessionId: 'chs_01k8e7qk3vf2tb5s0w9m4x6ydz' }),
    ];
    expect(new Set(pages.map(({ status }) => status))).to.deep.equal(new Set([403]));
    expect(new Set(pages.map(({ text }) => text)).size).to.equal(1);
  });
});
