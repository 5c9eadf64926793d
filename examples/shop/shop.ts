// A shop that sells an offer. Needs Node.js 24 and HUB_TOKEN with the role shop, limited to the app and the slots.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

type Settings = { rpcUrl: string; gatewayUrl: string; token: string; offer: string; slots: string[] };
type Price = { minorUnits: string; currency: string };
type Terms = { name: string; prices: Price[] };
type Found = { offer: { archivedAt?: string; terms: Terms } };
type Created = { session: { sessionId: string; checkoutUrl: string }; claimToken: string };
type Order = { status: string; orderState?: string; licenses: { licenseKey: string }[] };

class NotForSale extends Error {}

export function createShop({ rpcUrl, gatewayUrl, token, offer, slots }: Settings): Server {
  /** By the customer's cookie. A real shop keeps them in its database. */
  const purchases = new Map<string, { sessionId: string; claimToken: string }>();

  async function call<T>(rpc: string, request: object): Promise<T> {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const body = JSON.stringify(request);
    const response = await fetch(`${rpcUrl}/${rpc}`, { method: 'POST', headers, body });
    const reply = (await response.json()) as T & { message: string };
    if (!response.ok) throw new Error(reply.message);
    return reply;
  }

  async function readTerms(): Promise<Terms> {
    const { offer: current } = await call<Found>('hub.order.v1.OfferService/GetOffer', { offer });
    if (current.archivedAt !== undefined) throw new NotForSale();
    return current.terms;
  }

  async function showOffer(): Promise<string> {
    const terms = await readTerms();
    const options = terms.prices.map(
      (price) => `<option value=${price.currency}>${amountOf(price)}</option>`,
    );
    const buttons = slots.map((slot) => `<button name=slot value=${html(slot)}>${html(slot)}</button>`);
    return `<h1>${html(terms.name)}</h1><form method=post action=/buy>
      <p><label>Email <input name=email type=email required></label></p>
      <p><label>Price <select name=currency>${options.join('')}</select></label></p>Pay with ${buttons.join(' ')}</form>`;
  }

  /** Sends the customer to the checkout. The claim token stays here. */
  async function buy(form: URLSearchParams, shopUrl: string, response: ServerResponse): Promise<void> {
    const created = await call<Created>('hub.payment.v1.PaymentService/CreateChargeSession', {
      offer,
      slot: form.get('slot'),
      currency: form.get('currency'),
      customer: { email: form.get('email') },
      returnUrl: `${shopUrl}/thanks`,
    }).catch(async (error) => {
      await readTerms(); // the offer may be archived since the customer opened the page
      throw error;
    });
    const customer = randomUUID();
    purchases.set(customer, { sessionId: created.session.sessionId, claimToken: created.claimToken });
    const cookie = `customer=${customer}; HttpOnly; SameSite=Lax; Path=/`;
    response.writeHead(303, { Location: created.session.checkoutUrl, 'Set-Cookie': cookie }).end();
  }

  /** Reads the keys from the hub. The browser loads the page again until the payment is confirmed. */
  async function showKeys(cookies = ''): Promise<string> {
    const purchase = purchases.get(/customer=([\w-]+)/.exec(cookies)?.[1] ?? '');
    if (purchase === undefined) return '<p>You have bought nothing in this browser. <a href=/>Buy</a></p>';
    const headers = { Authorization: `Bearer ${purchase.claimToken}` };
    const response = await fetch(`${gatewayUrl}/v1/orders/${purchase.sessionId}`, { headers });
    if (!response.ok) throw new Error(await response.text());
    const order = (await response.json()) as Order;
    if (order.status === 'pending') return '<meta http-equiv=refresh content=2><p>Waiting for payment</p>';
    if (order.status !== 'paid') return `<p>Payment ${html(order.status)}. <a href=/>Try again</a></p>`;
    if (order.orderState === 'blocked') return '<h1>Thank you</h1><p>Your license key will follow.</p>';
    const keys = order.licenses.map(({ licenseKey }) => `<p>Key: <code>${html(licenseKey)}</code></p>`);
    return `<h1>Thank you</h1>${keys.join('')}`;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const shopUrl = `http://${request.headers.host}`;
    const { pathname } = new URL(request.url ?? '/', shopUrl);
    if (request.method === 'POST' && pathname === '/buy') {
      let body = '';
      for await (const chunk of request) {
        body += chunk;
        if (body.length > 10_000) throw new Error('the form is too long');
      }
      return buy(new URLSearchParams(body), shopUrl, response);
    }
    send(response, 200, await (pathname === '/thanks' ? showKeys(request.headers.cookie) : showOffer()));
  }

  return createServer((request, response) => {
    answer(request, response).catch((error: Error) => {
      if (error instanceof NotForSale) send(response, 410, '<p>This offer is no longer for sale.</p>');
      else response.writeHead(500).end(html(error.message));
    });
  });
}

function send(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' });
  response.end(`<!doctype html><html lang=en><title>Shop</title><body>${page}`);
}

/** Escapes text for HTML. */
const html = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The currencies of ISO 4217 without two decimals. Intl shows fewer decimals of some others, such as HUF. */
const DECIMALS: [number, string][] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

function amountOf({ minorUnits, currency }: Price): string {
  const [decimals] = DECIMALS.find(([, currencies]) => currencies.includes(currency)) ?? [2];
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, ...digits });
  return format.format(Number(minorUnits) / 10 ** decimals);
}

if (import.meta.main) {
  const { HUB_RPC_URL: rpcUrl = '', HUB_GATEWAY_URL: gatewayUrl = '', HUB_TOKEN: token = '' } = process.env;
  const { SHOP_OFFER: offer = '', SHOP_SLOTS: slots = '', SHOP_PORT: port } = process.env;
  const shop = createShop({ rpcUrl, gatewayUrl, token, offer, slots: slots.split(',') });
  shop.listen(Number(port), '127.0.0.1', () => console.log(`The shop is open at http://127.0.0.1:${port}/`));
}
