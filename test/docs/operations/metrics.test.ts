// The metrics of a hub under load: each counts exactly, and none contains personal data.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { MetricsService, MetricType } from '../../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { fetchMetrics, growth, parseMetrics, type Scrape, scrape } from '../../support/hub/metrics.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type Payments,
  pay,
  payQuietly,
  startPayments,
  untilStatus,
} from '../../support/hub/payment.ts';
import { activate, checkStatus, deactivate } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';
import { promtool } from '../../support/promtool.ts';
import { until } from '../../support/until.ts';
import { codeRows, readPage } from '../markdown.ts';

const ROUTES = {
  activate: '/v1/activate',
  deactivate: '/v1/deactivate',
  status: '/v1/status/{licenseId}',
  webhook: '/v1/webhooks/{gateway}',
  publicKey: '/v1/apps/{slug}/public-key',
};

describe('the metrics of a hub', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments({
      settings: { licenseRatePerMinute: 60, wrongGuesses: 4, failedAttemptsPerMinute: 3 },
    });
    await scrape(payments.hub); // so that it knows the slots
  });
  after(() => payments.stop());

  /** What has grown by now since `before`, of these families; without labels that are not asked for. */
  const grown = async (before: Scrape, ...names: string[]): Promise<Record<string, number>> => {
    const now = await scrape(payments.hub);
    const all = Array.from(growth(before, now)).filter(([key]) =>
      names.some((name) => key.startsWith(`${name}{`)),
    );
    return Object.fromEntries(all);
  };
  const labelled = (name: string, labels: Record<string, string>) => `${name}${JSON.stringify(labels)}`;
  /** Results of the database are cached for some seconds. */
  const untilTold = (holds: (told: Scrape) => boolean, what: string): Promise<void> =>
    until(async () => holds(await scrape(payments.hub)), what, 20_000);

  it('count requests by route and status, problems by code, and seats', async () => {
    const { gatewayUrl, admin } = payments.hub;
    const before = await scrape(payments.hub);
    const { licenseKey, licenseId } = await issueLicense(admin, { seatLimit: 1 });
    await activate(gatewayUrl, licenseKey, 'machine-1');
    await activate(gatewayUrl, licenseKey, 'machine-1');
    await activate(gatewayUrl, licenseKey, 'machine-2');
    await checkStatus(gatewayUrl, licenseId, 'machine-1');
    await checkStatus(gatewayUrl, licenseId, 'machine-2');
    await deactivate(gatewayUrl, licenseKey, 'machine-1');
    await deactivate(gatewayUrl, licenseKey, 'machine-1');
    await fetch(`${gatewayUrl}/v1/nothing/${licenseId}`);
    const requests = 'hub_http_requests_total';
    expect(await grown(before, requests)).to.deep.equal({
      [labelled(requests, { route: ROUTES.activate, status: '200' })]: 2,
      [labelled(requests, { route: ROUTES.activate, status: '409' })]: 1,
      [labelled(requests, { route: ROUTES.status, status: '200' })]: 1,
      [labelled(requests, { route: ROUTES.status, status: '403' })]: 1,
      [labelled(requests, { route: ROUTES.deactivate, status: '200' })]: 2,
      [labelled(requests, { route: 'none', status: '404' })]: 1,
    });
    const now = await scrape(payments.hub);
    const by = (name: string, labels?: Record<string, string>) =>
      now.sum(name, labels) - before.sum(name, labels);
    expect(by('hub_http_request_duration_seconds_count', { route: ROUTES.activate })).to.equal(3);
    expect(by('hub_http_request_duration_seconds_bucket', { route: ROUTES.activate, le: '+Inf' })).to.equal(
      3,
    );
    expect(by('hub_http_problems_total', { code: 'seat_limit_reached' })).to.equal(1);
    expect(by('hub_http_problems_total', { code: 'seat_not_active' })).to.equal(1);
    expect(by('hub_http_problems_total', { code: 'not_found' })).to.equal(1);
    expect(by('hub_activations_total')).to.equal(2);
    expect(by('hub_seats_taken_total')).to.equal(1);
    expect(by('hub_seats_released_total', { by: 'machine' })).to.equal(1);
    expect(by('hub_rpc_requests_total', { method: 'IssueLicenses', code: 'ok' })).to.equal(1);
    expect(by('hub_rpc_request_duration_seconds_count', { method: 'IssueLicenses' })).to.equal(1);
    await untilTold((told) => told.sum('hub_licenses') === 1, 'the license is told');
    const { sum } = await scrape(payments.hub);
    expect([sum('hub_seats', { state: 'active' }), sum('hub_seats', { state: 'released' })]).to.deep.equal([
      0, 1,
    ]);
  });

  it("count callbacks by outcome, sessions by status, and providers' answers by slot", async () => {
    const { gatewayUrl } = payments.hub;
    const before = await scrape(payments.hub);
    const paid = await createSession(payments, 'gateway_one');
    await pay(payments, paid);
    await untilStatus(payments, paid, 'success');
    await callBack(gatewayUrl, 'gateway_one', callbackFields(paid, 'paid'));
    const other = await createSession(payments, 'gateway_two');
    await pay(payments, other);
    await untilStatus(payments, other, 'success');
    const failed = await createSession(payments, 'gateway_one');
    await callBack(gatewayUrl, 'gateway_one', callbackFields(failed, 'failed'));
    await callBack(gatewayUrl, 'gateway_one', { ...callbackFields(failed, 'paid'), status: 'EXPIRED' });
    await callBack(gatewayUrl, 'gateway_one', {
      ...callbackFields(failed, 'paid'),
      tran_id: paid.merchantTransactionId,
    });
    await callBack(gatewayUrl, 'gateway_one', { session_id: 'chs_none', status: 'VALID', tran_id: 'NONE' });
    const malformed = await callBack(gatewayUrl, 'gateway_one', { tran_id: 'NONE' });
    expect(malformed.status).to.equal(400);
    payments.simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.initiate' });
    await createSession(payments, 'gateway_one').catch(() => {}); // the provider is away

    const [outcome, status] = ['hub_callbacks_total', 'hub_session_status_changes_total'];
    const [asked, checkouts] = ['hub_verifications_total', 'hub_checkouts_total'];
    const [received, created] = ['hub_callbacks_received_total', 'hub_sessions_created_total'];
    const names = [outcome, status, asked, checkouts, received, created];
    const [one, two] = ['gateway_one', 'gateway_two'];
    expect(await grown(before, ...names)).to.deep.equal({
      [labelled(received, { gateway: one })]: 6,
      [labelled(received, { gateway: two })]: 1,
      [labelled(outcome, { gateway: one, outcome: 'settled' })]: 3,
      [labelled(outcome, { gateway: one, outcome: 'ignored' })]: 1,
      [labelled(outcome, { gateway: one, outcome: 'mismatch' })]: 1,
      [labelled(outcome, { gateway: one, outcome: 'unresolved' })]: 1,
      [labelled(outcome, { gateway: two, outcome: 'settled' })]: 1,
      [labelled(created, { slot: 'store' })]: 3,
      [labelled(created, { slot: 'wallet' })]: 1,
      [labelled(status, { slot: 'store', status: 'success' })]: 1,
      [labelled(status, { slot: 'store', status: 'failed' })]: 1,
      [labelled(status, { slot: 'wallet', status: 'success' })]: 1,
      [labelled(asked, { slot: 'store', result: 'paid' })]: 1,
      [labelled(asked, { slot: 'wallet', result: 'paid' })]: 1,
      [labelled(checkouts, { slot: 'store', result: 'made' })]: 2,
      [labelled(checkouts, { slot: 'store', result: 'unavailable' })]: 1,
      [labelled(checkouts, { slot: 'wallet', result: 'made' })]: 1,
    });
    const now = await scrape(payments.hub);
    expect(now.sum('hub_verification_duration_seconds_count', { slot: 'wallet' })).to.equal(1);
    expect(now.sum('hub_http_requests_total', { route: ROUTES.webhook, status: '200' })).to.equal(7);
    expect(now.sum('hub_http_problems_total', { code: 'callback_malformed' })).to.equal(1);
  });

  it('report waiting callbacks with their age, and those given up', async () => {
    const { gatewayUrl, databaseUrl } = payments.hub;
    const before = await scrape(payments.hub);
    const session = await createSession(payments, 'gateway_one');
    const proof = payQuietly(payments, session);
    payments.simulator.faults.add({ kind: 'error_500', ref: session.merchantTransactionId, times: 100 });
    await callBack(gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
    await untilTold((told) => told.sum('hub_callbacks_waiting') === 1, 'a callback is told to wait');
    const waiting = await scrape(payments.hub);
    expect(waiting.sum('hub_callbacks_oldest_waiting_seconds')).to.be.within(0.001, 60);
    expect(waiting.sum('hub_sessions_pending', { age: '0-10m' })).to.be.at.least(1);
    const unavailable = { slot: 'store', result: 'unavailable' };
    const asked = 'hub_verifications_total';
    expect(waiting.sum(asked, unavailable) - before.sum(asked, unavailable)).to.be.at.least(1);

    // A day later, and still no answer.
    await query(
      databaseUrl,
      `update callback set tried_since = tried_since - interval '1 day' where state = 'received'`,
    );
    await payments.sessions.recheckChargeSession({ sessionId: session.sessionId }).catch(() => {}); // no answer
    const dead = 'hub_callbacks_total';
    expect(await grown(waiting, dead)).to.deep.equal({
      [labelled(dead, { gateway: 'gateway_one', outcome: 'dead' })]: 1,
    });
    await untilTold((told) => told.sum('hub_callbacks_dead') === 1, 'a dead callback is told');
    const given = await scrape(payments.hub);
    expect([
      given.sum('hub_callbacks_waiting'),
      given.sum('hub_callbacks_oldest_waiting_seconds'),
    ]).to.deep.equal([0, 0]);
  });

  it('report stray callbacks, old sessions, and the delay of the sweep', async () => {
    const { databaseUrl } = payments.hub;
    const session = await createSession(payments, 'gateway_two');
    // As if a hub had died that took them, and as if none had swept since.
    await query(
      databaseUrl,
      `update charge_session set created_at = created_at - interval '2 hours', verifying_by = gen_random_uuid(),
              verifying_until = now() + interval '1 hour', next_check_at = now() - interval '5 minutes'
       where merchant_transaction_id = $1`,
      [session.merchantTransactionId],
    );
    await untilTold((told) => told.sum('hub_sessions_pending', { age: '1h-6h' }) === 1, 'its age is told');
    const swept = () =>
      scrape(payments.hub).then(({ sum }) => sum('hub_sweep_questions_total', { result: 'busy' }));
    await until(async () => (await swept()) >= 1, 'the sweep has counted its verification');
    const tasks = (await scrape(payments.hub)).samples.filter(({ name }) => name.startsWith('hub_task_last'));
    expect(tasks.map(({ labels }) => labels['task'])).to.have.members([
      'sweep',
      'strays',
      'refund_sweep',
      'event_sequencer',
      'event_deliveries',
      'license_expiry',
      'audit_chain',
      'partitions',
    ]);
    for (const { value } of tasks) expect(Date.now() / 1_000 - value).to.be.within(0, 60);
    const { sum } = await scrape(payments.hub);
    expect(sum('hub_partition_months_ahead')).to.equal(3);
    expect(sum('hub_audit_head_lost')).to.equal(0);
    expect(sum('hub_audit_chain_links')).to.be.above(0);
  });

  it('pass promtool in the format of Prometheus', async function () {
    const { text } = await scrape(payments.hub);
    expect(promtool(this, ['check', 'metrics'], text)).to.deep.equal({ code: 0, output: '' });
  });

  it('are the same in OpenMetrics, and by RPC', async () => {
    const { hub } = payments;
    const { families } = await scrape(hub);
    const open = await fetchMetrics(hub, { accept: 'application/openmetrics-text; version=1.0.0' });
    expect(open.headers.get('content-type')).to.match(/^application\/openmetrics-text/);
    const text = await open.text();
    expect(text).to.match(/\n# EOF\n$/);
    const names = Array.from(parseMetrics(text.replace('# EOF\n', '')).families, ([name, { type }]) =>
      type === 'counter' ? `${name}_total` : name,
    );
    expect(names).to.deep.equal([...families.keys()]);
    const read = await createClient(MetricsService, hub.transport).readMetrics({});
    expect(read.families.map(({ name }) => name)).to.deep.equal([...families.keys()]);
    const verifications = read.families.find(({ name }) => name === 'hub_verifications_total');
    expect(verifications?.type).to.equal(MetricType.COUNTER);
    const paid = verifications?.samples.find(
      ({ labels }) => labels['slot'] === 'store' && labels['result'] === 'paid',
    );
    expect(paid?.value).to.equal(1);
  });

  describe('are readable', () => {
    const statusWith = async (token: string) =>
      (await fetchMetrics({ rpcUrl: payments.hub.rpcUrl, token })).status;
    const createToken = async (role: Role, apps: string[] = []) => {
      const tokens = createClient(TokenService, payments.hub.transport);
      const { token, serviceToken } = await tokens.createToken({ role, apps });
      return { token, revoke: () => tokens.revokeToken({ tokenId: serviceToken?.tokenId ?? '' }) };
    };

    it('by a monitor, which may do nothing else', async () => {
      const { token, revoke } = await createToken(Role.MONITOR);
      expect(await statusWith(token)).to.equal(200);
      const refused = await createClient(MetricsService, transportTo(payments.hub.rpcUrl, token))
        .readMetrics({})
        .then(() => 'read');
      expect(refused).to.equal('read');
      const apps = await fetch(`${payments.hub.rpcUrl}/hub.license.v1.LicenseAdminService/ListApps`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      });
      expect(apps.status).to.equal(403);
      await revoke();
      expect(await statusWith(token)).to.equal(401);
    });

    it('by unlimited roles that may read everything, and not by services or limited tokens', async () => {
      const { app } = await issueLicense(payments.hub.admin);
      const statuses = [];
      for (const [role, apps] of [
        [Role.VIEWER, []],
        [Role.OPERATOR, []],
        [Role.SERVICE, []],
        [Role.GATEWAY, []],
        [Role.VIEWER, [app]],
      ] as const) {
        const { token } = await createToken(role, [...apps]);
        statuses.push(await statusWith(token));
      }
      expect(statuses).to.deep.equal([200, 200, 403, 403, 403]);
    });

    it('by GET and HEAD only, and only with a token', async () => {
      const { rpcUrl, token } = payments.hub;
      const bare = await fetch(`${rpcUrl}/metrics`);
      expect([bare.status, bare.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer']);
      const headers = { authorization: `Bearer ${token}` };
      const post = await fetch(`${rpcUrl}/metrics`, { method: 'POST', headers });
      expect([post.status, post.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
      const head = await fetch(`${rpcUrl}/metrics`, { method: 'HEAD', headers });
      expect([head.status, await head.text()]).to.deep.equal([200, '']);
      expect(Number(head.headers.get('content-length'))).to.be.above(1_000);
      expect((await fetch(`${payments.hub.gatewayUrl}/metrics`, { headers })).status).to.equal(404);
    });
  });

  describe('in all', () => {
    it('match docs/operations/metrics.md word for word', async () => {
      const documented = codeRows(readPage('docs/operations/metrics.md'));
      const { families, samples } = await scrape(payments.hub);
      const told = Array.from(families, ([name, { type, help }]) => [name, type, help]);
      expect(documented.map(([name, type, _labels, help]) => [name, type, help])).to.have.deep.members(told);
      const without = documented.flatMap(([name = '', type, labels = '']) => {
        const named = [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label);
        const own = samples.filter(
          (sample) => sample.name === (type === 'histogram' ? `${name}_count` : name),
        );
        const wrong = own.find(
          (sample) => Object.keys(sample.labels).sort().join() !== named.toSorted().join(),
        );
        return wrong ? [`${name} has ${Object.keys(wrong.labels)}`] : [];
      });
      expect(without).to.deep.equal([]);
    });

    it('count refusals by limit', async () => {
      const { hub } = payments;
      const before = await scrape(hub);
      const { licenseId } = await issueLicense(hub.admin);
      const guesses = await Promise.all(
        Array.from({ length: 12 }, (_, index) => checkStatus(hub.gatewayUrl, licenseId, `guess-${index}`)),
      );
      const requests = await Promise.all(
        Array.from({ length: 70 }, () => fetch(`${hub.gatewayUrl}/v1/apps/no-app/public-key`)),
      );
      const tokens: number[] = [];
      for (let attempt = 0; attempt < 6; attempt++) {
        tokens.push((await fetchMetrics({ rpcUrl: hub.rpcUrl, token: `hub_wrong_${attempt}` })).status);
      }
      const refused = {
        guesses: guesses.filter(({ status }) => status === 429).length,
        requests: requests.filter(({ status }) => status === 429).length,
        tokens: tokens.filter((status) => status === 429).length,
      };
      expect(Math.min(...Object.values(refused)), JSON.stringify(refused)).to.be.above(0);
      const limited = 'hub_rate_limited_total';
      expect(await grown(before, limited)).to.deep.equal(
        Object.fromEntries(
          Object.entries(refused).map(([limit, count]) => [labelled(limited, { limit }), count]),
        ),
      );
      const now = await scrape(hub);
      const route = { route: ROUTES.publicKey, status: '429' };
      expect(
        now.sum('hub_http_requests_total', route) - before.sum('hub_http_requests_total', route),
      ).to.equal(refused.requests);
    });

    it('contain no license, session, machine, client, address or secret', async () => {
      const { text } = await scrape(payments.hub);
      expect(text).to.not.match(/\b(lic|seat|chs|cb|tok|aud|use|fee)_[0-9a-z]{10}/);
      expect(text).to.not.match(/[0-9a-f]{8}-[0-9a-f]{4}-/i);
      expect(text).to.not.match(/127\.0\.0\.1|machine-|guess-|hub_wrong|no-app|ORD-|postgres/);
      const labels = new Set(
        (await scrape(payments.hub)).samples.flatMap((sample) => Object.keys(sample.labels)),
      );
      expect([...labels].sort()).to.deep.equal(
        [
          ...[
            'age',
            'by',
            'code',
            'gateway',
            'le',
            'limit',
            'method',
            'node',
            'outcome',
            'reason',
            'result',
            'role',
          ],
          ...['route', 'service', 'slot', 'state', 'status', 'task', 'version'],
        ].sort(),
      );
    });
  });
});
