// Traces as a collector gets them, of a gateway and a core in processes of their own.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type ChargeSession, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { createCanaries } from '../../support/hub/canaries.ts';
import { discard, localToken, makeDataDir } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { callBack, callbackFields, payQuietly } from '../../support/hub/payment.ts';
import { type ProviderTap, startProviderTap } from '../../support/hub/provider-tap.ts';
import { activate } from '../../support/network/rest.ts';
import { type OtlpReceiver, type SentSpan, startReceiver } from '../../support/otlp/receiver.ts';
import { createMigratedDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

function collectedBy({ url }: OtlpReceiver): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=of-the-collector',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
}

const CUSTOMER = 'Rahima Khatun-Sarker';

describe('traces of a gateway and a core in two processes', () => {
  const canaries = createCanaries();
  let receiver: OtlpReceiver;
  let simulator: Simulator;
  let tap: ProviderTap;
  let databaseUrl: string;
  let dataDir: string;
  let core: HubProcess;
  let gateway: HubProcess;
  let token: string;
  let licenses: Client<typeof LicenseAdminService>;
  let sessions: Client<typeof PaymentService>;

  before(async () => {
    receiver = await startReceiver();
    simulator = await startSimulator({ port: 0 });
    tap = await startProviderTap(simulator.url);
    databaseUrl = await createMigratedDatabase();
    dataDir = await makeDataDir();
    const collector = collectedBy(receiver);
    core = await spawnHub({
      ...collector,
      HUB_ROLE: 'core',
      HUB_DATA_DIR: dataDir,
      HUB_PUBLIC_URL: 'https://hub.example',
      HUB_RETRY_DELAY_SECONDS: '1',
      DATABASE_URL: databaseUrl,
    });
    token = await localToken(dataDir);
    gateway = await spawnHub({
      ...collector,
      OTEL_SERVICE_NAME: 'front-door',
      HUB_ROLE: 'gateway',
      HUB_DATA_DIR: '/nonexistent/hub',
      HUB_CORE_URL: core.rpcUrl,
      HUB_CORE_TOKEN: token,
    });
    const transport = transportTo(core.rpcUrl, token);
    licenses = createClient(LicenseAdminService, transport);
    sessions = createClient(PaymentService, transport);
    await createClient(PaymentAdminService, transport).addSlot({
      name: 'store',
      gateway: 'gateway_one',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: `${tap.url}/gateway_one`,
      credentials: simulator.credentials.gateway_one,
    });
    canaries.add(token);
    for (const secret of Object.values(simulator.credentials.gateway_one)) canaries.add(secret);
    canaries.add(CUSTOMER);
    canaries.add((await readFile(join(dataDir, 'master.key'), 'utf8')).trim());
  });
  after(async () => {
    await gateway?.stop();
    await core?.stop();
    await tap?.close();
    await simulator?.close();
    await receiver?.close();
    await discard(dataDir);
  });

  /** The first that fits, as soon as it has come. */
  async function sent(fits: (span: SentSpan) => boolean, what: string): Promise<SentSpan> {
    await until(() => receiver.spans.some(fits), what);
    return receiver.spans.find(fits) as SentSpan; // it was there just now
  }

  /** The trace that a span belongs to, as a tree of names; each span's children by their names. */
  function traceOf({ traceId }: SentSpan): SentSpan[] {
    return receiver.spans.filter((span) => span.traceId === traceId);
  }

  function childOf(parent: SentSpan, name: string): SentSpan {
    const found = traceOf(parent).find((span) => span.parentSpanId === parent.spanId && span.name === name);
    if (found === undefined) {
      const names = traceOf(parent).map((span) => `${span.name} (${span.kind}) in ${span.parentSpanId}`);
      throw new Error(`${parent.name} has no ${name} in it, but there are\n${names.join('\n')}`);
    }
    return found;
  }

  async function createSession(): Promise<ChargeSession> {
    const { session } = await sessions.createChargeSession({
      slot: 'store',
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      orderReference: 'ORD-1',
      customer: { name: CUSTOMER },
    });
    if (session === undefined) throw new Error('no session was created');
    return session;
  }

  async function callBackPaid(session: ChargeSession): Promise<void> {
    const proof = payQuietly({ simulator }, session);
    canaries.add(proof);
    await callBack(gateway.gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
  }

  function isCallbackOf({ sessionId }: ChargeSession, name: string) {
    // The gateway's call has the same name; it may come first.
    return ({ name: its, kind, attributes }: SentSpan) =>
      its === name && kind !== 'client' && attributes['hub.session.id'] === sessionId;
  }

  it('lead an activation from the request over the RPC to its statements', async () => {
    const { licenseId, licenseKey } = await issueLicense(licenses);
    canaries.add(licenseKey);
    const traceparent = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
    // A machine that has its seat, and something new to say: all that an activation can take.
    const machineFingerprint = canaries.make();
    await activate(gateway.gatewayUrl, licenseKey, machineFingerprint);
    const answer = await fetch(`${gateway.gatewayUrl}/v1/activate`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        traceparent,
        tracestate: `a=${canaries.make()}`,
        baggage: `a=${canaries.make()}`,
      },
      body: JSON.stringify({
        licenseKey,
        machineFingerprint,
        machineLabel: canaries.make(),
      }),
    });
    const requestId = answer.headers.get('x-request-id');
    const request = await sent(
      ({ attributes }) => attributes['hub.request.id'] === requestId,
      'the span of the request has come',
    );
    expect(request.name).to.equal('POST /v1/activate');
    expect(request.kind).to.equal('server');
    expect(request.attributes).to.include({
      'http.request.method': 'POST',
      'http.route': '/v1/activate',
      'url.path': '/v1/activate',
      'http.response.status_code': 200,
    });
    expect(request.resource).to.include({
      'service.name': 'front-door',
      'hub.role': 'gateway',
      'deployment.environment.name': 'test',
    });
    expect(receiver.headers).to.include({ 'x-api-key': 'of-the-collector' });

    const rpc = 'hub.license.v1.LicenseService/Activate';
    await sent(
      ({ name, kind, traceId }) => name === rpc && kind === 'server' && traceId === request.traceId,
      'the span of the core has come',
    );
    const asked = childOf(request, rpc);
    const served = childOf(asked, rpc);
    expect([asked.kind, served.kind]).to.deep.equal(['client', 'server']);
    expect(served.attributes).to.include({ 'rpc.system.name': 'connectrpc', 'hub.license.id': licenseId });
    expect(served.resource).to.include({ 'service.name': 'hub', 'hub.role': 'core' });
    expect(served.resource['service.instance.id']).not.to.equal(asked.resource['service.instance.id']);
    const { version } = JSON.parse(await readFile(new URL('../../../package.json', import.meta.url), 'utf8'));
    expect(served.resource['service.version']).to.equal(version);
    for (const name of ['find_or_allocate_seats', 'update_seats']) {
      const { kind, attributes } = childOf(served, name);
      expect({ kind, ...attributes }).to.include({ kind: 'client', 'db.system.name': 'postgresql' });
    }

    // Anybody can send one: it is linked, not continued.
    const [, traceId, spanId] = traceparent.split('-');
    expect(request.parentSpanId).to.equal('');
    expect(request.traceId).not.to.equal(traceId);
    expect(request.links).to.deep.equal([{ traceId, spanId }]);

    // From the log to the trace, and back.
    for (const { lines } of [gateway, core]) {
      const logged = lines.map((line) => JSON.parse(line)).find((line) => line.requestId === requestId);
      expect(logged).to.include({ trace_id: request.traceId });
      expect(traceOf(request).map((span) => span.spanId)).to.include(logged.span_id);
    }
  });

  it('lead a callback from the request to the request to the provider', async () => {
    const session = await createSession();
    await callBackPaid(session);
    const served = await sent(
      isCallbackOf(session, 'hub.payment.v1.CallbackService/ReceiveCallback'),
      'the span of the callback has come',
    );
    expect(served.attributes['hub.callback.id']).to.match(/^cb_/);
    await sent(
      ({ kind, traceId }) => kind === 'server' && traceId === served.traceId,
      'the gateway has told',
    );
    const request = await sent(
      ({ name, traceId }) => name === 'POST /v1/webhooks/{gateway}' && traceId === served.traceId,
      'the span of the gateway has come',
    );
    expect(request.attributes).to.include({
      'url.path': '/v1/webhooks/{gateway}',
      'http.response.status_code': 200,
    });
    expect(childOf(childOf(request, served.name), served.name)).to.equal(served);
    expect(childOf(served, 'append_and_lease_callbacks').attributes['db.query.summary']).to.equal(
      'append_and_lease_callbacks',
    );
    const question = childOf(served, 'verify');
    expect(question.attributes).to.deep.equal({
      'hub.slot': 'store',
      'hub.session.id': session.sessionId,
      'hub.verification.outcome': 'paid',
    });
    expect(childOf(question, 'GET').attributes).to.deep.equal({
      'http.request.method': 'GET',
      'server.address': '127.0.0.1',
      'http.response.status_code': 200,
    });
    childOf(served, 'lock_sessions');
    expect([...tap.headers])
      .to.include('user-agent')
      .and.not.include('traceparent');
  });

  it('continue the trace of a caller of the RPC port', async () => {
    const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
    await sessions.listChargeSessions({}, { headers: { traceparent: `00-${traceId}-${spanId}-01` } });
    const served = await sent(
      (span) => span.traceId === traceId && span.kind === 'server',
      'the RPC has come',
    );
    expect(served.parentSpanId).to.equal(spanId);
    // And are not kept where he does not keep them.
    const dropped = randomBytes(16).toString('hex');
    await sessions.listChargeSessions({}, { headers: { traceparent: `00-${dropped}-${spanId}-00` } });
    await sessions.listChargeSessions(
      {},
      { headers: { traceparent: `00-${traceId}-${'0'.repeat(15)}1-01` } },
    );
    await sent((span) => span.parentSpanId === `${'0'.repeat(15)}1`, 'what came after it has come');
    expect(receiver.spans.filter((span) => span.traceId === dropped)).to.deep.equal([]);
  });

  it('are not exported by a core if its gateway does not sample them', async () => {
    const quiet = await spawnHub({
      ...collectedBy(receiver),
      OTEL_TRACES_SAMPLER: 'always_off',
      HUB_ROLE: 'gateway',
      HUB_DATA_DIR: '/nonexistent/hub',
      HUB_CORE_URL: core.rpcUrl,
      HUB_CORE_TOKEN: token,
    });
    const { licenseId } = await issueLicense(licenses);
    const isOfLicense = ({ attributes }: SentSpan) => attributes['hub.license.id'] === licenseId;
    await fetch(`${quiet.gatewayUrl}/v1/status/${licenseId}`);
    await quiet.stop();
    // The core has told of the RPC before this one, if it tells of it at all.
    await fetch(`${gateway.gatewayUrl}/v1/status/${licenseId}`);
    await sent((span) => isOfLicense(span) && span.kind === 'server', 'another request has come');
    expect(receiver.spans.filter((span) => isOfLicense(span) && span.kind === 'server')).to.have.length(1);
  });

  it('link the requests that share a statement', async () => {
    const { licenseId } = await issueLicense(licenses);
    // A connection and a tick are shared by chance: more of them, until some did.
    const shared = () => receiver.spans.find((span) => span.name === 'batch' && span.links.length > 0);
    while (shared() === undefined) {
      const asks = Array.from({ length: 20 }, () => fetch(`${gateway.gatewayUrl}/v1/status/${licenseId}`));
      await Promise.all(asks);
      const [last] = asks;
      const requestId = (await last)?.headers.get('x-request-id');
      await sent(({ attributes }) => attributes['hub.request.id'] === requestId, 'the spans have come');
    }
    const batch = shared() as SentSpan; // the loop has ended
    const statement = childOf(batch, 'check_status');
    expect(statement.attributes['db.operation.batch.size']).to.equal(batch.attributes['hub.batch.size']);
    const [link] = batch.links;
    const other = await sent((span) => span.spanId === link?.spanId, 'another request has come');
    expect(other.name).to.equal('hub.license.v1.LicenseService/CheckStatus');
    expect(other.traceId).not.to.equal(batch.traceId);
    expect(other.links).to.deep.include({ traceId: batch.traceId, spanId: batch.spanId });
    const request = await sent(
      ({ name, traceId }) => name === 'GET /v1/status/{licenseId}' && traceId === other.traceId,
      'the request has come',
    );
    expect(request.attributes['url.path']).to.equal(`/v1/status/${licenseId}`);
  });

  it('link later work to its callback', async () => {
    const session = await createSession();
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
      simulator.faults.add({ kind: 'error_500', operation });
    }
    await callBackPaid(session);
    const swept = await sent(isCallbackOf(session, 'sweep'), 'the sweep has come');
    const served = await sent(
      isCallbackOf(session, 'hub.payment.v1.CallbackService/ReceiveCallback'),
      'the callback has come',
    );
    const { traceId, spanId } = served;
    // It is linked to a batch as well, if it happened to share a statement.
    expect(swept.links).to.deep.include({ traceId, spanId });
    expect(swept.parentSpanId).to.equal('');
    expect(childOf(swept, 'verify').attributes['hub.verification.outcome']).to.equal('paid');
    const failed = childOf(served, 'verify');
    expect(failed.attributes['error.type']).to.equal('ProviderUnavailable');
    expect(failed.failed).to.equal(true);

    // As if its hub had died with it.
    await query(
      databaseUrl,
      `update callback set state = 'received', session_id = null, received_at = received_at - interval '1 hour'`,
    );
    const callbackId = served.attributes['hub.callback.id'];
    const job = await sent(
      ({ name, attributes }) => name === 'callback job' && attributes['hub.callback.id'] === callbackId,
      'the job has come',
    );
    expect(job.links).to.deep.include({ traceId, spanId });
    childOf(job, 'read_callback');
  });

  it('contain no claim token, and neither do the logs of the two processes', async () => {
    const { session, claimToken } = await sessions.createChargeSession({
      slot: 'store',
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      returnUrl: 'http://localhost:3000/paid',
    });
    canaries.add(claimToken);
    const requests = [
      [`/v1/orders/${session?.sessionId}`, { authorization: `Bearer ${claimToken}` }, 200],
      [`/orders/${session?.sessionId}`, { cookie: `hub_claim=${claimToken}` }, 200],
      [`/v1/orders/${claimToken}`, { authorization: `Bearer ${claimToken}` }, 404], // a mistake of a shop
      [`/v1/orders/${session?.sessionId}`, { authorization: `Bearer ${claimToken}x` }, 403],
    ] as const;
    for (const [path, headers, status] of requests) {
      const answer = await fetch(`${gateway.gatewayUrl}${path}`, { headers });
      expect(answer.status, path).to.equal(status);
      const requestId = answer.headers.get('x-request-id');
      await sent(({ attributes }) => attributes['hub.request.id'] === requestId, `${path} has come`);
    }
    const logged = [...gateway.lines, ...core.lines].join('\n');
    expect(logged).to.contain('GetClaimedOrder').and.contain('/v1/orders/{sessionId}');
    expect(canaries.found(logged)).not.to.include(claimToken);
  });

  it('contain no key, token, fingerprint or customer', async () => {
    const { licenseId, licenseKey } = await issueLicense(licenses);
    const fingerprint = canaries.make();
    canaries.add(licenseKey);
    const urls = [
      `/v1/status/${licenseId}?fp=${fingerprint}`,
      `/v1/status/${licenseKey}`, // a mistake that somebody will make
      `/v1/apps/${licenseKey}/public-key`,
      `/${licenseKey}`,
    ];
    for (const url of urls) {
      const answer = await fetch(`${gateway.gatewayUrl}${url}`, {
        headers: { authorization: canaries.make() },
      });
      const requestId = answer.headers.get('x-request-id');
      await sent(({ attributes }) => attributes['hub.request.id'] === requestId, `${url} has come`);
    }
    const session = await createSession();
    await callBackPaid(session);
    await sent(isCallbackOf(session, 'verify'), 'the question has come');
    await gateway.stop();
    await core.stop();
    expect(canaries.found(receiver.raw())).to.deep.equal([]);
    expect(canaries.found(JSON.stringify(receiver.spans))).to.deep.equal([]);
  });
});
