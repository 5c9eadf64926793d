// The way of a customer's browser from the checkout of a provider back to the shop.
import { expect } from 'chai';
import { OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type GatewayName,
  journal,
  payQuietly,
  SLOTS,
  statusOf,
} from '../../support/hub/payment.ts';
import { buy, createOffer, orderOf, type Sales, startSales } from '../../support/hub/sales.ts';

const SHOP = 'https://shop.example.com';
/** What a careless shop might call its page. */
const RETURN_URL = `${SHOP}/paid;jsessionid=1?cart=1&next=%0d%0aSet-Cookie:%20a=b&say='"<b>ü#done`;

describe('the return of a customer', () => {
  let sales: Sales;
  let pro: string;
  before(async () => {
    sales = await startSales({ settings: { sessionCallbacks: 3 } });
    pro = await createOffer(sales, 'pro');
    for (const slot of Object.values(SLOTS)) {
      await sales.payments.admin.updateSlot({ slot, returnOrigins: { origins: [SHOP] } });
    }
  });
  after(() => sales.stop());

  const sell = async (gateway: GatewayName, returnUrl = RETURN_URL) =>
    (await buy(sales, pro, { gateway, returnUrl })).session;
  const returning = (sessionId: string, init: RequestInit = {}, query = ''): Promise<Response> =>
    fetch(`${sales.payments.hub.gatewayUrl}/v1/return/${sessionId}${query}`, { redirect: 'manual', ...init });
  /** The shop's address as the browser gets it. */
  const shopOf = ({ sessionId }: ChargeSession): string => {
    const url = new URL(RETURN_URL);
    url.searchParams.set('session_id', sessionId);
    return url.href;
  };

  describe('from gateway_one', () => {
    it('goes to the stored return URL with the session, by GET, HEAD and POST', async () => {
      const session = await sell('gateway_one');
      for (const init of [{}, { method: 'HEAD' }, { method: 'POST' }]) {
        const { status, headers } = await returning(session.sessionId, init);
        expect([status, headers.get('location')]).to.deep.equal([303, shopOf(session)]);
        expect(headers.get('cache-control')).to.equal('no-store');
        expect(headers.get('set-cookie')).to.equal(null);
      }
      const refused = await returning(session.sessionId, { method: 'PUT' });
      expect([refused.status, refused.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, POST']);
    });

    it('is the address of all outcomes, with the notification at the callback address', async () => {
      const { sessionId, checkoutUrl } = await sell('gateway_one');
      const form = new URLSearchParams({ press: 'cancel' });
      const page = await (await fetch(checkoutUrl, { method: 'POST', body: form })).text();
      const { gatewayUrl } = sales.payments.hub;
      expect(page).to.contain(`action="${gatewayUrl}/v1/return/${sessionId}"`);
      await sales.payments.simulator.idle();
      const [notified] = sales.payments.simulator.deliveries().slice(-1);
      expect(notified?.url).to.equal(`${gatewayUrl}/v1/webhooks/gateway_one?session_id=${sessionId}`);
    });

    it('stays at the callback address for a session without an offer and a return URL', async () => {
      const { checkoutUrl, sessionId } = await createSession(sales.payments, 'gateway_one');
      const form = new URLSearchParams({ press: 'fail' });
      const page = await (await fetch(checkoutUrl, { method: 'POST', body: form })).text();
      expect(page)
        .to.contain(`/v1/webhooks/gateway_one?session_id=${sessionId}`)
        .and.not.contain('/v1/return');
      const closing = await returning(sessionId);
      expect([closing.status, await closing.text()].join(' ')).to.match(/^200 .*You can close this page/s);
    });

    it('brings a notification that was lost', async () => {
      const session = await sell('gateway_one');
      const { session_id: _, ...fields } = callbackFields(
        session,
        'paid',
        payQuietly(sales.payments, session),
      );
      const body = new URLSearchParams(fields);
      const { status, headers } = await returning(session.sessionId, { method: 'POST', body });
      expect([status, headers.get('location')]).to.deep.equal([303, shopOf(session)]);
      expect(await statusOf(sales.payments, session)).to.equal('success');
      expect(await orderOf(sales, session.sessionId)).to.include({ state: OrderState.FULFILLED });
      const [callback] = await journal(sales.payments, session);
      expect(callback).to.include({ state: 'settled', sessionId: session.sessionId });
    });

    it('goes on whatever the form holds', async () => {
      const session = await sell('gateway_one');
      const text = { 'content-type': 'text/plain' };
      for (const init of [
        { body: 'status=VALID', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
        { body: '{}', headers: { 'content-type': 'application/json' } },
        { body: 'x'.repeat(100_000), headers: text },
        { body: new URLSearchParams({ status: 'VALID', tran_id: 'x'.repeat(70_000) }) },
        { body: new URLSearchParams('status=VALID&status=FAILED&tran_id=x') },
        { body: new URLSearchParams({ status: 'VALID', tran_id: 'another', val_id: 'forged' }) },
      ]) {
        const { status, headers } = await returning(session.sessionId, { method: 'POST', ...init });
        expect([status, headers.get('location')]).to.deep.equal([303, shopOf(session)]);
      }
      expect(await statusOf(sales.payments, session)).to.equal('pending');
    });

    it('goes to no address that the request names', async () => {
      const session = await sell('gateway_one');
      const evil = 'https://evil.example';
      for (const [init, query] of [
        [{}, `?url=${evil}&return_url=${evil}&returnUrl=${evil}&session_id=chs_1&next=//evil.example`],
        [
          { headers: { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example', referer: evil } },
          '',
        ],
        [
          { method: 'POST', body: new URLSearchParams({ return_url: evil, success_url: evil, status: 'x' }) },
          '',
        ],
      ] as const) {
        const { status, headers } = await returning(session.sessionId, init, query);
        expect([status, headers.get('location')]).to.deep.equal([303, shopOf(session)]);
      }
      for (const id of [
        '%2F%2Fevil.example',
        'https:%2F%2Fevil.example',
        '..%2F..%2Fevil',
        'chs_%0d%0aX:%201',
      ]) {
        const { status, headers } = await returning(id);
        expect([status, headers.get('location')], id).to.deep.equal([404, null]);
      }
    });

    it('shows a plain page for an unknown session', async () => {
      for (const init of [{}, { method: 'POST', body: new URLSearchParams({ status: 'VALID' }) }]) {
        const response = await returning('chs_01k8e7qk3vf2tb5s0w9m4x6ydz', init);
        expect([response.status, response.headers.get('content-type')]).to.deep.equal([
          404,
          'text/html; charset=utf-8',
        ]);
        expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
        expect(await response.text()).to.contain('There is no order at this address.');
      }
    });

    it("goes to the hub's own page if the shop has none", async () => {
      const { sessionId } = (await buy(sales, pro)).session;
      const response = await returning(sessionId);
      const location = new URL(response.headers.get('location') ?? '', response.url);
      expect([response.status, location.href]).to.deep.equal([
        303,
        `${sales.payments.hub.gatewayUrl}/orders/${sessionId}`,
      ]);
    });
  });

  describe('from gateway_two', () => {
    const bringing = (fields: Record<string, string>): Promise<Response> =>
      fetch(`${sales.payments.hub.gatewayUrl}/v1/webhooks/gateway_two?${new URLSearchParams(fields)}`);

    /** The response that the specification asks for, and its Refresh header. */
    const refreshOf = async (response: Response): Promise<string | null> => {
      expect(response.status).to.equal(200);
      expect(response.headers.get('content-type')).to.equal('text/plain; charset=utf-8');
      expect(await response.text()).to.equal('ok');
      return response.headers.get('refresh');
    };

    it('goes on to the return URL after each outcome, also of callbacks that are ignored or counted', async () => {
      for (const claim of ['paid', 'failed', 'cancelled'] as const) {
        const session = await sell('gateway_two');
        payQuietly(sales.payments, session);
        const fields = callbackFields(session, claim);
        expect(await refreshOf(await bringing(fields))).to.equal(`0; url=${shopOf(session)}`);
        for (const status of ['other', 'success', 'success', 'cancel', 'other']) {
          expect(await refreshOf(await bringing({ ...fields, status }))).to.equal(
            `0; url=${shopOf(session)}`,
          );
        }
      }
    });

    it('finds the session by the payment id', async () => {
      const session = await sell('gateway_two');
      const { session_id: _, ...fields } = callbackFields(session, 'failed');
      expect(await refreshOf(await bringing(fields))).to.equal(`0; url=${shopOf(session)}`);
    });

    it("goes on to the hub's own page if the shop has none", async () => {
      const { session } = await buy(sales, pro, { gateway: 'gateway_two' });
      const response = await bringing(callbackFields(session, 'cancelled'));
      const [, location = ''] = /^0; url=(.+)$/.exec((await refreshOf(response)) ?? '') ?? [];
      expect(new URL(location, response.url).pathname).to.equal(`/orders/${session.sessionId}`);
    });

    it('stays at the callback without a session, an offer or a return URL, or if two sessions are named', async () => {
      const plain = await createSession(sales.payments, 'gateway_two');
      const [one, other] = [await sell('gateway_two'), await sell('gateway_two')];
      const elsewhere = await sell('gateway_one');
      for (const fields of [
        callbackFields(plain, 'cancelled'),
        { paymentID: 'unknown', status: 'success' },
        { session_id: 'chs_01k8e7qk3vf2tb5s0w9m4x6ydz', status: 'success' },
        { ...callbackFields(one, 'paid'), paymentID: other.providerPaymentId },
        { session_id: elsewhere.sessionId, status: 'success' },
        {},
      ]) {
        expect(await refreshOf(await bringing(fields)), JSON.stringify(fields)).to.equal(null);
      }
    });
  });

  it('leaves notifications of gateway_one as they are', async () => {
    const session = await sell('gateway_one');
    const answer = await callBack(
      sales.payments.hub.gatewayUrl,
      'gateway_one',
      callbackFields(session, 'failed'),
    );
    expect(answer).to.deep.equal({ status: 200, body: '{"message":"received"}' });
  });
});
