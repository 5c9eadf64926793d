// The OpenAPI document held to a hub: every operation is driven to every answer that is described, and no other comes.
import type { AddressInfo } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Client } from 'pg';
import { pino } from 'pino';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode } from '../../../gateway/problem.ts';
import { createGateway, type Gateway, type GatewayOptions } from '../../../gateway/server/server.ts';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { signEvent, WEBHOOK_SECRET } from '../../core/payment/providers/stripe/sign-event.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { createOffer } from '../../support/hub/sales.ts';
import { until } from '../../support/until.ts';
import { openRaw, sendRaw } from '../server/raw-socket.ts';
import {
  type Answer,
  type Asked,
  createContract,
  DOCUMENT,
  follow,
  OPERATIONS,
  operation,
} from './contract.ts';

/** What no request brings about, and why. */
const UNSEEN: { readonly [answer: string]: string } = {
  'any default internal': 'a mistake of the hub itself',
};

describe('the OpenAPI document', () => {
  const contract = createContract();
  const gateways: Gateway[] = [];
  const said = new Set<string>();
  let hub: TestHub;
  let simulator: Simulator | undefined;
  let now = new Date('2026-05-01T12:00:00.000Z');
  before(async () => {
    hub = await startHub({ clock: () => now, settings: { licenseRatePerMinute: 1_000_000 } });
    await hub.admin.createApp({ slug: 'bare' });
    await hub.admin.createApp({ slug: 'photo-lab' });
    await hub.admin.setLimitProfile({
      app: 'photo-lab',
      name: 'free',
      limits: { projects: 3n, exports: -1n },
    });
  });
  after(async () => {
    await simulator?.close();
    await Promise.all(gateways.map((gateway) => gateway.close(0)));
    await hub?.stop();
  });

  /** Another gateway before the same core, as in the role gateway. */
  const gatewayWith = async (options: Partial<GatewayOptions>): Promise<{ url: string; port: number }> => {
    const gateway = createGateway({
      transport: hub.transport,
      logger: pino({ level: 'silent' }),
      ratePerMinute: 0,
      wrongGuesses: 0,
      maxInFlight: 1_000,
      connectionsPerClient: 0,
      trustedProxies: [],
      proxyHeader: 'x-forwarded-for',
      ...options,
    });
    gateways.push(gateway);
    await new Promise<void>((resolve) => {
      gateway.server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = gateway.server.address() as AddressInfo; // it listens on TCP
    return { url: `http://127.0.0.1:${port}`, port };
  };
  const drive = async (id: string, asked: Asked = {}, url = hub.gatewayUrl) => {
    const answer = await contract.ask(url, id, asked);
    const value = contract.check(id, answer);
    return { ...answer, value };
  };
  /** Like `drive`, and the answer has to be that problem. */
  const refused = async (
    code: ProblemCode,
    id: string,
    asked: Asked = {},
    url = hub.gatewayUrl,
  ): Promise<void> => {
    const { status, value } = await drive(id, asked, url);
    expect([status, value.code], id).to.deep.equal([PROBLEMS[code].status, code]);
    said.add(wordsOf(value));
  };
  const granted = async (id: string, asked: Asked = {}) => {
    const { path, method, node } = operation(id);
    const [type] = Object.keys(node.requestBody?.content ?? {});
    if (type)
      contract.hold(['paths', path, method, 'requestBody', 'content', type, 'schema'], asked.body, id);
    const { status, value, headers } = await drive(id, asked);
    expect(status, id).to.equal(200);
    return { value, headers };
  };
  const exampleOf = (id: string): Asked => {
    const { node } = operation(id);
    const [content] = Object.values<{ example: object }>(node.requestBody?.content ?? {});
    const parameters: { name: string; example?: string }[] = node.parameters ?? [];
    const given = parameters.flatMap(({ name, example }) => (example === undefined ? [] : [[name, example]]));
    return { parameters: Object.fromEntries(given), ...(content && { body: content.example }) };
  };
  const refusedAs = (codes: readonly ProblemCode[]): readonly string[] =>
    contract
      .unseen()
      .flatMap((each) => (codes.some((code) => each.endsWith(` ${code}`)) ? [each.split(' ')[0] ?? ''] : []));

  it('describes the responses to a machine from activation to release', async () => {
    const expiresAt = { seconds: BigInt(Date.parse('2026-06-01T00:00:00Z') / 1000), nanos: 0 };
    const limits = { projects: -1n, exports: 2n ** 53n - 1n };
    const terms = {
      features: ['export'],
      metadata: { plan: 'pro' },
      signedMetadata: ['plan'],
      graceDays: 5,
    };
    for (const about of [{}, { ...terms, expiresAt, limits, leaseDays: 30, customer: 'Ada Lovelace' }]) {
      const { licenseKey, licenseId } = await issueLicense(hub.admin, {
        ...about,
        app: 'photo-lab',
        seatLimit: 1,
      });
      const seat = { licenseKey, machineFingerprint: 'laptop-1' };
      const { value } = await granted('activate', {
        body: { ...seat, machineLabel: 'Laptop', appVersion: '2.14.0' },
      });
      expect(Object.keys(value.license)).to.include.members(
        'customer' in about ? ['leaseExpiresAt', 'features', 'metadata', 'graceEndsAt'] : ['kid'],
      );
      await granted('checkStatus', { parameters: { licenseId } });
      await granted('checkStatus', { parameters: { licenseId, fp: 'laptop-1' } });
      await refused('seat_limit_reached', 'activate', {
        body: { licenseKey, machineFingerprint: 'laptop-2' },
      });
      expect((await granted('deactivate', { body: seat })).value.released).to.equal(true);
      expect((await granted('deactivate', { body: seat })).value.released).to.equal(false);
      await refused('seat_not_active', 'checkStatus', { parameters: { licenseId, fp: 'laptop-1' } });
    }
  });

  it('describes the responses for all license states and unknown ids', async () => {
    const { licenseKey, licenseId } = await issueLicense(hub.admin);
    const unseated = { licenseKey, machineFingerprint: 'never-seen' };
    await refused('license_key_unknown', 'activate', exampleOf('activate'));
    await refused('license_key_unknown', 'deactivate', exampleOf('deactivate'));
    await refused('seat_unknown', 'deactivate', { body: unseated });
    await refused('license_unknown', 'checkStatus', { parameters: { licenseId: 'lic_1' } });
    await hub.admin.revokeLicense({ licenseId, reason: 'refunded' });
    await refused('license_revoked', 'activate', { body: unseated });
    await refused('license_revoked', 'checkStatus', { parameters: { licenseId } });
    const suspended = await issueLicense(hub.admin);
    await hub.admin.suspendLicense({ licenseId: suspended.licenseId, reason: 'not paid' });
    await refused('license_suspended', 'activate', {
      body: { ...unseated, licenseKey: suspended.licenseKey },
    });
    await refused('license_suspended', 'checkStatus', { parameters: { licenseId: suspended.licenseId } });
    const expiring = await issueLicense(hub.admin, {
      expiresAt: { seconds: BigInt(now.getTime() / 1000 + 60), nanos: 0 },
    });
    now = new Date(now.getTime() + 60_000);
    await refused('license_expired', 'activate', { body: { ...unseated, licenseKey: expiring.licenseKey } });
    await refused('license_expired', 'checkStatus', { parameters: { licenseId: expiring.licenseId } });
    await hub.admin.updateLicense({
      licenseId: expiring.licenseId,
      updateMask: { paths: ['grace_days'] },
      graceDays: 1,
    });
    const { value } = await granted('checkStatus', { parameters: { licenseId: expiring.licenseId } });
    expect(value).to.include.keys('expiresAt', 'graceEndsAt');
    for (const id of ['getPublicKey', 'getJwks', 'getFreeLimits']) {
      await refused('app_unknown', id, { parameters: { slug: 'nobody' } });
      await refused('invalid_request', id, { path: operation(id).path.replace('{slug}', '%ff') });
    }
    await refused('limit_profile_unknown', 'getFreeLimits', { parameters: { slug: 'bare' } });
  });

  it('describes the results of charge sessions', async () => {
    simulator = await startSimulator({ port: 0 });
    await createClient(PaymentAdminService, hub.transport).addSlot({
      name: 'store',
      gateway: 'gateway_one',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: simulator.urls.gateway_one,
      credentials: simulator.credentials.gateway_one,
    });
    const offer = await createOffer(
      { offers: createClient(OfferService, hub.transport), app: 'bare' },
      'pro',
    );
    const { session, claimToken } = await createClient(PaymentService, hub.transport).createChargeSession({
      slot: 'store',
      offer,
      currency: 'BDT',
    });
    const { sessionId = '', providerPaymentId = '' } = session ?? {};
    const authorized = { headers: { authorization: `Bearer ${claimToken}` } };
    const asked = { parameters: { sessionId }, ...authorized };
    expect((await granted('getOrder', asked)).value).to.deep.equal({
      ok: true,
      status: 'pending',
      licenses: [],
    });
    simulator.pay(providerPaymentId);
    await simulator.idle();
    const { value } = await granted('getOrder', asked);
    expect(Object.keys(value)).to.deep.equal(
      Object.keys(operation('getOrder').node.responses[200].content['application/json'].example),
    );
    await refused('claim_invalid', 'getOrder', { parameters: { sessionId } });
    await refused('session_unknown', 'getOrder', exampleOf('getOrder'));
    await refused('invalid_request', 'getOrder', { path: '/v1/orders/%ff' });
  });

  it('describes public data, and caching by entity tag', async () => {
    await granted('getFreeLimits', exampleOf('getFreeLimits'));
    for (const id of ['getPublicKey', 'getJwks', 'getOpenApi', 'getReference']) {
      const { headers } = await granted(id, exampleOf(id));
      const known = { ...exampleOf(id), headers: { 'if-none-match': headers['etag'] ?? '' } };
      expect((await drive(id, known)).status, id).to.equal(304);
    }
    await granted('isUp');
    await granted('isReady');
  });

  it('describes the responses to providers', async () => {
    for (const id of ['gatewayOneCallback', 'gatewayTwoCallback']) await granted(id, exampleOf(id));
    const { body, parameters } = exampleOf('gatewayOneCallback');
    for (const field of operation('gatewayOneCallback').node.requestBody.content[
      'application/x-www-form-urlencoded'
    ].schema.required) {
      const { [field]: _, ...others } = body as Record<string, string>; // a form's fields
      await refused('callback_malformed', 'gatewayOneCallback', { body: others });
    }
    await refused('invalid_request', 'gatewayOneCallback', { body: 'status=VALID&status=FAILED&tran_id=x' });
    await refused('invalid_request', 'gatewayTwoCallback', { parameters: { session_id: 'x'.repeat(257) } });
    await refused('callback_malformed', 'gatewayTwoCallback', {
      parameters: { paymentID: 'a', paymentId: 'b' },
    });
    await granted('gatewayOneCallback', {
      parameters: parameters ?? {},
      body: { ...(body as object), other: 'x' },
    });
  });

  it('describes the responses to a provider that signs its callbacks', async () => {
    await createClient(PaymentAdminService, hub.transport).addSlot({
      name: 'card',
      gateway: 'stripe',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: 'http://127.0.0.1:9/stripe',
      credentials: { secretKey: 'sk_test', webhookSecret: WEBHOOK_SECRET },
    });
    const { body } = exampleOf('stripeCallback');
    const text = JSON.stringify(body);
    const headers = { 'stripe-signature': signEvent(text) };
    await granted('stripeCallback', { body, headers });
    await refused('callback_malformed', 'stripeCallback', { body, headers: {} });
    await refused('callback_malformed', 'stripeCallback', { body: `${text} `, headers });
    await refused('invalid_request', 'stripeCallback', {
      body,
      headers: { 'stripe-signature': 'x'.repeat(8_193) },
    });
    await refused('body_too_large', 'stripeCallback', { body: 'x'.repeat(262_145), headers });
    await refused('unsupported_media_type', 'stripeCallback', {
      body,
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    });
  });

  it('describes the validation of each member and parameter, and nothing stricter', async () => {
    const { licenseKey, licenseId } = await issueLicense(hub.admin, { seatLimit: -1 });
    const good = { licenseKey, machineFingerprint: 'laptop-1', machineLabel: '', appVersion: '' };
    for (const id of ['activate', 'deactivate']) {
      const { path, method } = operation(id);
      const place = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema'];
      const { properties, required } = follow(place).node;
      expect(Object.keys(good)).to.include.members(Object.keys(properties));
      for (const [name, schema] of Object.entries<TextSchema>(properties)) {
        const body = (value: unknown) => ({ body: { ...good, [name]: value } });
        for (const wrong of wrongTexts(schema)) await refused('invalid_request', id, body(wrong));
        for (const nothing of [undefined, null]) {
          const { value } = await drive(id, body(nothing));
          expect(value.code === 'invalid_request', `${id} with ${name} ${nothing}`).to.equal(
            required.includes(name),
          );
        }
        expect(schema.type, name).to.deep.equal(required.includes(name) ? 'string' : ['string', 'null']);
        const longest = await drive(id, body('1'.repeat(schema.maxLength)));
        expect(longest.value.code, `${id} with the longest ${name}`).not.to.equal('invalid_request');
      }
      await refused('invalid_json', id, { body: '{' });
      await refused('unsupported_media_type', id, { body: good, headers: { 'content-type': 'text/plain' } });
      await refused('body_too_large', id, { body: JSON.stringify({ ...good, more: 'x'.repeat(65_536) }) });
    }
    const { schema } = operation('checkStatus').node.parameters.find(
      ({ name }: { name: string }) => name === 'fp',
    );
    for (const fp of wrongTexts(schema))
      await refused('invalid_request', 'checkStatus', { parameters: { licenseId, fp } });
    const form = { body: 'x'.repeat(65_537) };
    await refused('body_too_large', 'gatewayOneCallback', form);
    await refused('unsupported_media_type', 'gatewayOneCallback', {
      ...form,
      headers: { 'content-type': 'text/plain' },
    });
  });

  it('describes the responses of the rate limits', async () => {
    const { url } = await gatewayWith({ ratePerMinute: 1 });
    await contract.ask(url, 'getFreeLimits', exampleOf('getFreeLimits'));
    // Ten times as many requests for orders are allowed.
    for (let sent = 0; sent < 10; sent++) await contract.ask(url, 'getOrder', exampleOf('getOrder'));
    for (const id of refusedAs(['rate_limited'])) {
      if (id !== 'any') await refused('rate_limited', id, exampleOf(id), url);
    }
    const capped = await gatewayWith({ connectionsPerClient: 1 });
    const held = await openRaw(capped.port);
    await refused('rate_limited', 'isUp', {}, capped.url);
    held.socket.destroy();
  });

  it('describes the responses of an overloaded hub', async () => {
    const busy = await startHub({ beside: hub, settings: { maxInFlight: 1 } });
    const { url } = await gatewayWith({ transport: busy.transport, maxInFlight: 1 });
    const locker = new Client({ connectionString: hub.databaseUrl });
    await locker.connect();
    await locker.query('begin; lock table license');
    const waiting = contract.ask(url, 'checkStatus', exampleOf('checkStatus'));
    const isWaiting = async () => (await locker.query(WAITING)).rows.length > 0;
    await until(isWaiting, 'the one request that it takes waits for the lock');
    for (const id of refusedAs(['overloaded'])) await refused('overloaded', id, exampleOf(id), url);
    await locker.end();
    contract.check('checkStatus', await waiting);
    await busy.stop();
  });

  it('describes the responses while the core is down', async () => {
    const { url } = await gatewayWith({ transport: transportTo('http://127.0.0.1:1', 'none') });
    for (const id of refusedAs(['unavailable'])) await refused('unavailable', id, exampleOf(id), url);
  });

  it('describes the responses to malformed and endless requests', async () => {
    const { port } = await gatewayWith({ bodyTimeoutMs: 400 });
    const check = (id: string, answers: readonly Answer[]): void => {
      for (const answer of answers) said.add(wordsOf(contract.check(id, answer)));
      expect(answers).to.have.length(1);
    };
    const cutOff = OPERATIONS.flatMap(({ id, path, method, node }) => {
      const [type] = Object.keys(node.requestBody?.content ?? {});
      const head = `${method.toUpperCase()} ${path} HTTP/1.1\r\nHost: hub\r\nContent-Type: ${type}\r\nContent-Length: 9`;
      return type === undefined ? [] : [{ id, text: `${head}\r\n\r\n{` }];
    });
    const others = [
      'GET /healthz HTTP/1.1\r\nHost: hub\r\nX: ',
      `GET /healthz HTTP/1.1\r\nHost: hub\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n',
    ].map((text) => ({ id: 'isUp', text }));
    await Promise.all(
      [...cutOff, ...others].map(async ({ id, text }) => check(id, await sendRaw(port, text))),
    );
  });

  it("has examples in the hub's own words", () => {
    const problems = Object.values<ProblemResponse>(DOCUMENT.components.responses).flatMap(({ content }) =>
      Object.values(content[PROBLEM_TYPE].examples).map(({ value }) => value),
    );
    const made = problems.filter((problem) => !said.has(wordsOf(problem))).map(({ code }) => code);
    expect([...new Set(made)]).to.deep.equal(['internal']);
  });

  it('describes no other responses', () => {
    expect(contract.unseen()).to.deep.equal(Object.keys(UNSEEN));
  });
});

const WAITING = `select from pg_locks join pg_database on database = pg_database.oid
  where not granted and datname = current_database()`;

type ProblemMembers = { readonly [name: string]: unknown };
type ProblemResponse = {
  readonly content: {
    readonly [PROBLEM_TYPE]: { readonly examples: { readonly [code: string]: { value: ProblemMembers } } };
  };
};

/** What a problem says, without the numbers and names in it. */
function wordsOf({ type, title, detail, seats, errors }: ProblemMembers): string {
  const words = String(detail).replace(/[\d.]*\d|"[^"]*"/g, '…');
  return JSON.stringify([type, title, words, seats !== undefined, errors !== undefined]);
}

type TextSchema = {
  readonly type: unknown;
  readonly minLength?: number;
  readonly maxLength: number;
  readonly pattern?: string;
};

/** Texts that break one rule of the schema each. */
function wrongTexts({ minLength = 0, maxLength, pattern }: TextSchema): string[] {
  const odd = ['\n', '\u202e', 'x'].filter(
    (text) => pattern !== undefined && !new RegExp(pattern, 'u').test(text),
  );
  return [...(minLength > 0 ? [''] : []), '1'.repeat(maxLength + 1), ...odd];
}
