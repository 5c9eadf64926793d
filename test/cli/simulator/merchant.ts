// A merchant of the simulated providers: takes their callbacks and calls their operations.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Simulator } from '../../../cli/simulator/simulator.ts';

/** A callback as it arrived. */
export type Received = {
  readonly method: string;
  readonly path: string;
  readonly fields: Readonly<Record<string, string>>;
};

export type Merchant = {
  readonly url: string;
  readonly received: Received[];
  /** How callbacks are answered from now on. */
  answer: (response: ServerResponse) => void;
  close(): Promise<void>;
};

/** Listens for callbacks; GET brings its fields in the query, POST in a form. */
export async function openMerchant(): Promise<Merchant> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://merchant');
    if (path === '/favicon.ico') return response.writeHead(404).end(); // what browsers ask by themselves
    const body = await text(request);
    const fields = request.method === 'POST' ? new URLSearchParams(body) : searchParams;
    received.push({ method: request.method ?? '', path, fields: Object.fromEntries(fields) });
    return merchant.answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const merchant: Merchant = {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: (response) => void response.end('ok'),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return merchant;
}

// biome-ignore lint/suspicious/noExplicitAny: any JSON, which assertions look at
export type Answer = { readonly status: number; readonly body: any };

export const transactionId = (): string => `T${randomBytes(8).toString('hex').toUpperCase()}`;

/** gateway_one's operations as a merchant calls them. */
export function storeOf({ urls, credentials }: Simulator, { url }: Pick<Merchant, 'url'>) {
  const { storeId, storePassword } = credentials.gateway_one;
  const account = { store_id: storeId, store_passwd: storePassword };
  const get = (file: string, query: Record<string, string>) =>
    answer(`${urls.gateway_one}/validator/api/${file}?${new URLSearchParams({ ...account, ...query })}`);
  return {
    initiate: (fields: Record<string, string> = {}): Promise<Answer> =>
      answer(`${urls.gateway_one}/gwprocess/v4/api.php`, {
        method: 'POST',
        body: new URLSearchParams({
          ...account,
          total_amount: '100.00',
          currency: 'BDT',
          tran_id: transactionId(),
          success_url: `${url}/paid`,
          fail_url: `${url}/failed`,
          cancel_url: `${url}/cancelled`,
          ipn_url: `${url}/notify?session_id=chs_1`,
          product_category: 'none',
          product_name: 'Order 1',
          product_profile: 'general',
          cus_name: 'Ada',
          cus_email: 'ada@example.com',
          cus_phone: '01711111111',
          cus_add1: 'Road 1',
          cus_city: 'Dhaka',
          cus_postcode: '1000',
          cus_country: 'Bangladesh',
          shipping_method: 'NO',
          num_of_item: '1',
          ...fields,
        }),
      }),
    validate: (proof: string, more: Record<string, string> = {}) =>
      get('validationserverAPI.php', { val_id: proof, v: '1', format: 'json', ...more }),
    query: (by: Record<string, string>) => get('merchantTransIDvalidationAPI.php', by),
    refund: (bank_tran_id: string, refund_trans_id: string, refund_amount: string) =>
      get('merchantTransIDvalidationAPI.php', {
        bank_tran_id,
        refund_trans_id,
        refund_amount,
        refund_remarks: 'Returned',
      }),
  };
}

/** gateway_two's operations as a merchant calls them. */
export function walletOf({ urls, credentials }: Simulator, { url }: Pick<Merchant, 'url'>) {
  const { username, password, appKey, appSecret } = credentials.gateway_two;
  const post = (path: string, headers: Record<string, string>, body: object): Promise<Answer> =>
    answer(`${urls.gateway_two}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const withToken = (token: string) => ({ authorization: token, 'x-app-key': appKey });
  return {
    grant: (wrong: { headers?: Record<string, string>; body?: object } = {}) =>
      post(
        '/token/grant',
        { username, password, ...wrong.headers },
        { app_key: appKey, app_secret: appSecret, ...wrong.body },
      ),
    create: (token: string, fields: object = {}) =>
      post('/create', withToken(token), {
        mode: '0011',
        payerReference: 'Order 1',
        callbackURL: `${url}/back?session_id=chs_1`,
        amount: '100.00',
        currency: 'BDT',
        intent: 'sale',
        merchantInvoiceNumber: transactionId(),
        ...fields,
      }),
    execute: (token: string, body: object) => post('/execute', withToken(token), body),
    query: (token: string, body: object) => post('/payment/status', withToken(token), body),
    refund: (token: string, body: object) =>
      post('/v2/tokenized-checkout/refund/payment/transaction', withToken(token), body),
    refundStatus: (token: string, body: object) =>
      post('/v2/tokenized-checkout/refund/payment/status', withToken(token), body),
    post,
  };
}

async function answer(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.json() };
}
