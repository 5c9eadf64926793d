// GET /v1/orders/{sessionId}: the result of a session for the bearer of its claim token.
import { expect } from 'chai';
import { callBack, callbackFields, pay, SLOTS } from '../../support/hub/payment.ts';
import {
  type Bought,
  buy,
  buyAndPay,
  createOffer,
  orderOf,
  type Sales,
  startSales,
} from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';

const DAY_MS = 86_400_000;

describe('the result of a session over REST', () => {
  let sales: Sales;
  let pro: string;
  let now = new Date('2026-11-23T12:00:00.000Z');
  before(async () => {
    sales = await startSales({
      clock: () => now,
      settings: {
        trustedProxies: ['127.0.0.1'],
        wrongGuesses: 3,
        licenseRatePerMinute: 10_000,
        corsOrigins: ['https://shop.example.com'],
      },
    });
    pro = await createOffer(sales, 'pro');
  });
  after(() => sales.stop());

  type Result = {
    readonly status: number;
    readonly headers: Headers;
    readonly body: Record<string, unknown>;
  };
  let clients = 0;
  /** By default from a client that guessed nothing before. */
  const resultOf = async (
    sessionId: string,
    authorization: string | undefined,
    client = `198.51.${++clients >> 8}.${clients & 255}`,
    query = '',
  ): Promise<Result> => {
    const response = await fetch(`${sales.payments.hub.gatewayUrl}/v1/orders/${sessionId}${query}`, {
      headers: { 'x-forwarded-for': client, ...(authorization !== undefined && { authorization }) },
    });
    const { status, headers } = response;
    return { status, headers, body: (await response.json()) as Record<string, unknown> };
  };
  const claimed = ({ session, claimToken }: Bought): Promise<Result> =>
    resultOf(session.sessionId, `Bearer ${claimToken}`);
  const refusedWith = async (pending: Promise<Result>): Promise<[number, unknown]> => {
    const { status, body } = await pending;
    return [status, body['code']];
  };

  it('is pending, then paid with a key that activates', async () => {
    const bought = await buy(sales, pro, { quantity: 2 });
    const before = await claimed(bought);
    expect(before).to.deep.include({ status: 200, body: { ok: true, status: 'pending', licenses: [] } });
    expect(before.headers.get('cache-control')).to.equal('no-store');
    await pay(sales.payments, bought.session);
    const { body } = await claimed(bought);
    const { orderId, licenses } = await orderOf(sales, bought.session.sessionId);
    expect(body).to.include({ ok: true, status: 'paid', orderId, orderState: 'fulfilled' });
    const shown = body['licenses'] as { licenseId: string; licenseKey: string }[];
    expect(shown.map(({ licenseId }) => licenseId)).to.have.members(
      licenses.map(({ licenseId }) => licenseId),
    );
    for (const { licenseKey } of shown) {
      const { status } = await activate(sales.payments.hub.gatewayUrl, licenseKey, 'machine');
      expect(status).to.equal(200);
    }
  });

  it('is failed, cancelled or refunded, without keys', async () => {
    for (const claim of ['failed', 'cancelled'] as const) {
      const bought = await buy(sales, pro);
      const { gatewayUrl } = sales.payments.hub;
      await callBack(gatewayUrl, 'gateway_one', callbackFields(bought.session, claim));
      expect((await claimed(bought)).body).to.deep.equal({ ok: true, status: claim, licenses: [] });
    }
    const bought = await buyAndPay(sales, pro);
    const { sessionId, providerPaymentId } = bought.session;
    sales.payments.simulator.reverse(providerPaymentId);
    await sales.payments.sessions.recheckChargeSession({ sessionId });
    const { body } = await claimed(bought);
    expect(body).to.include({ status: 'refunded', orderId: bought.order.orderId });
    expect(body['licenses']).to.deep.equal([]);
  });

  it('is blocked if the hub could not grant it, and has no key for a renewal', async () => {
    const renewal = await createOffer(sales, 'renewal', {
      grant: { case: 'renewal', value: { by: { years: 1 } } },
    });
    const { admin } = sales.payments.hub;
    const { licenses } = await admin.issueLicenses({
      app: sales.app,
      seatLimit: 1,
      expiresAt: { seconds: BigInt(now.getTime() / 1000) + 864_000n, nanos: 0 },
    });
    const licenseId = licenses[0]?.license?.licenseId ?? '';
    const renewed = await buyAndPay(sales, renewal, { licenseId });
    expect((await claimed(renewed)).body).to.deep.include({
      status: 'paid',
      licenses: [{ licenseId, licenseKey: '' }],
    });
    const blocked = await buy(sales, renewal, { licenseId });
    await admin.revokeLicense({ licenseId, reason: 'test' });
    await pay(sales.payments, blocked.session);
    expect((await claimed(blocked)).body).to.deep.include({
      status: 'paid',
      orderState: 'blocked',
      licenses: [],
    });
  });

  it('has no order for a session without an offer', async () => {
    const { session, claimToken } = await sales.payments.sessions.createChargeSession({
      slot: SLOTS.gateway_one,
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      returnUrl: 'http://localhost:3000/paid',
    });
    if (session === undefined) throw new Error('no session was created');
    await pay(sales.payments, session);
    expect((await claimed({ session, claimToken })).body).to.deep.equal({
      ok: true,
      status: 'paid',
      licenses: [],
    });
  });

  it('needs a claim token of this session, in the header', async () => {
    const [bought, other] = [await buy(sales, pro), await buy(sales, pro)];
    const { sessionId } = bought.session;
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      bought.claimToken,
      `Basic ${bought.claimToken}`,
      `Bearer ${bought.claimToken}x`,
      `Bearer ${bought.claimToken.toUpperCase()}`,
      `Bearer ${bought.claimToken} ${bought.claimToken}`,
      `Bearer ${other.claimToken}`,
      `Bearer ${'x'.repeat(5_000)}`,
      "Bearer ' or 1=1",
    ]) {
      expect(await refusedWith(resultOf(sessionId, authorization)), authorization).to.deep.equal([
        403,
        'claim_invalid',
      ]);
    }
    const query = `?claim_token=${bought.claimToken}&access_token=${bought.claimToken}`;
    expect((await resultOf(sessionId, undefined, undefined, query)).status).to.equal(403);
    for (const id of ['chs_01k8e7qk3vf2tb5s0w9m4x6ydz', 'chs_1', sessionId.toUpperCase(), '%27']) {
      const refused = await refusedWith(resultOf(id, `Bearer ${bought.claimToken}`));
      expect(refused, id).to.deep.equal([404, 'session_unknown']);
    }
    expect((await resultOf(sessionId, `bearer ${bought.claimToken}`)).status).to.equal(200);
  });

  it('is open to the newest ten tokens of a session', async () => {
    const request = { idempotencyKey: 'one-session' };
    const tokens: string[] = [];
    let sessionId = '';
    for (let count = 0; count < 11; count++) {
      now = new Date(now.getTime() + 1_000);
      const bought = await buy(sales, pro, request);
      tokens.push(bought.claimToken);
      sessionId = bought.session.sessionId;
    }
    const statuses = [];
    for (const token of tokens) statuses.push((await resultOf(sessionId, `Bearer ${token}`)).status);
    expect(new Set(tokens).size).to.equal(11);
    expect(statuses).to.deep.equal([403, ...Array(10).fill(200)]);
  });

  it('is open until 7 days after the payment, or 90 days while nobody pays', async () => {
    const unpaid = await buy(sales, pro);
    const bought = await buy(sales, pro);
    now = new Date(now.getTime() + 30 * DAY_MS);
    await pay(sales.payments, bought.session);
    const paidAt = now.getTime();
    now = new Date(paidAt + 7 * DAY_MS - 1_000);
    expect((await claimed(bought)).status).to.equal(200);
    now = new Date(paidAt + 7 * DAY_MS + 1_000);
    expect(await refusedWith(claimed(bought))).to.deep.equal([403, 'claim_invalid']);
    now = new Date(paidAt + 60 * DAY_MS - 60_000);
    expect((await claimed(unpaid)).status).to.equal(200);
    now = new Date(paidAt + 60 * DAY_MS + 60_000);
    expect((await claimed(unpaid)).status).to.equal(403);
  });

  it('stops a client that guesses tokens, and no other', async () => {
    const bought = await buy(sales, pro);
    const { sessionId } = bought.session;
    const right = `Bearer ${bought.claimToken}`;
    const [guesser, shop] = ['203.0.113.7', '203.0.113.8'];
    for (const status of [403, 403, 403, 429]) {
      expect((await resultOf(sessionId, 'Bearer wrong', guesser)).status).to.equal(status);
    }
    const stopped = await resultOf(sessionId, right, guesser);
    expect(await refusedWith(Promise.resolve(stopped))).to.deep.equal([429, 'rate_limited']);
    expect(Number(stopped.headers.get('retry-after'))).to.be.greaterThan(0);
    expect((await resultOf(sessionId, right, shop)).status).to.equal(200);
  });

  it('may be read by pages of the listed origins', async () => {
    const bought = await buy(sales, pro);
    const url = `${sales.payments.hub.gatewayUrl}/v1/orders/${bought.session.sessionId}`;
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://shop.example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      },
    });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers.get('access-control-allow-headers')).to.contain('Authorization');
    for (const [origin, allowed] of [
      ['https://shop.example.com', 'https://shop.example.com'],
      ['https://evil.example', null],
    ] as const) {
      const headers = { origin, authorization: `Bearer ${bought.claimToken}` };
      const response = await fetch(url, { headers });
      expect(response.headers.get('access-control-allow-origin')).to.equal(allowed);
    }
  });
});
