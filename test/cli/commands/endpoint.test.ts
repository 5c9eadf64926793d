// hubctl endpoint, run as a person would against a hub.
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { type Printed, runHere } from '../run-here.ts';

describe('hubctl endpoint', () => {
  let hub: TestHub;
  let receiver: WebhookReceiver;
  before(async () => {
    hub = await startHub({ settings: { eventAllowNetworks: ['127.0.0.0/8'] } });
  });
  after(() => hub.stop());
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
  });
  afterEach(() => receiver.close());

  const run = (...words: string[]): Promise<Printed> => runHere(['endpoint', ...words], hub);
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(...words, '--output', 'json');
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    const value = JSON.parse(stdout);
    expectPrinted(`endpoint ${words[0]}`, value);
    return value;
  };
  const add = (...words: string[]) => json('add', '--url', receiver.url, ...words);

  it('adds an endpoint, and shows its secret only then', async () => {
    const app = await createApp(hub.admin);
    const added = await add(
      ...['--event', 'license.*', '--event', 'seat.activated', '--app', app],
      ...['--include-keys', '--description', 'the shop'],
    );
    expect(Object.keys(added).slice(0, 4)).to.deep.equal(['endpointId', 'url', 'events', 'secret']);
    expect(added).to.deep.include({
      url: receiver.url,
      events: ['license.*', 'seat.activated'],
      apps: [app],
      includeKeys: true,
      description: 'the shop',
    });
    expect(added.secret).to.match(/^whsec_/);
    const { secret, ...rest } = added;
    expect(await json('show', added.endpointId)).to.deep.equal({ ...rest, deliveries: [] });

    const text = await run('add', '--url', receiver.url, '--event', '*');
    expect(text.stdout).to.match(/^Secret +whsec_\S+\nEndpoint +whe_/);
    expect(text.stderr).to.contain('only time the secret is shown').and.contain('hubctl endpoint test whe_');
  });

  it('names the wrong option', async () => {
    const badUrl = await run('add', '--url', 'http://10.0.0.1/hook', '--event', '*');
    expect(badUrl.code).to.equal(2);
    expect(badUrl.stderr).to.match(/^hubctl: --url: the URL .*HUB_EVENT_ALLOW_NETWORKS/);
    const badType = await run('add', '--url', receiver.url, '--event', 'licence.*');
    expect(badType.stderr).to.match(/^hubctl: --event: there is no event type "licence\.\*"/);
    expect(badType.stderr).to.match(
      /: use \*, license\.\*, seat\.\*, .* or a type such as license\.issued$/m,
    );
    const nearType = await run('add', '--url', receiver.url, '--event', 'customer.eaten');
    expect(nearType.stderr).to.match(
      /: use \*, customer\.\* or one of customer\.created, .*customer\.erased$/m,
    );
    const badApp = await run('add', '--url', receiver.url, '--event', '*', '--app', 'nowhere');
    expect(badApp.stderr).to.match(/^hubctl: --app: there is no app "nowhere"/);
    expect((await run('show', 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz')).stderr).to.contain(
      'this is the id of a license',
    );
    expect((await run('add', '--event', '*')).code).to.equal(2);
  });

  it('changes only the given settings', async () => {
    const app = await createApp(hub.admin);
    const added = await add('--event', 'seat.*', '--app', app, '--description', 'old');
    const { secret, ...before } = added;
    const update = (...words: string[]) => json('update', added.endpointId, ...words);
    expect(await update('--event', 'license.*', '--event', 'session.*')).to.deep.equal({
      ...before,
      events: ['license.*', 'session.*'],
    });
    const keyed = await update('--include-keys', '--remove-scope', '--description', '');
    const { description, ...described } = before;
    const now = { ...described, events: ['license.*', 'session.*'], apps: [], includeKeys: true };
    expect(keyed).to.deep.equal(now);
    const moved = { ...now, url: `${receiver.url}/2` };
    expect(await update('--url', moved.url)).to.deep.equal(moved);
    expect(await update('--no-include-keys')).to.deep.equal({ ...moved, includeKeys: false });
    expect((await run('update', added.endpointId)).stderr).to.contain('at least one setting');
    const contradiction = await run('update', added.endpointId, '--remove-scope', '--app', app);
    expect(contradiction.code).to.equal(2);
  });

  it('sends a test, and exits with 0 only if it is delivered', async () => {
    const { endpointId } = await add('--event', 'license.*');
    const tested = await json('test', endpointId);
    expect(tested).to.include({ state: 'delivered', responseStatus: 204, type: 'endpoint.test' });
    expect(receiver.received.map(({ event }) => event.type)).to.deep.equal(['endpoint.test']);

    receiver.answer = (_, response) => {
      response.writeHead(500).end('no such table');
      return undefined;
    };
    const refused = await run('test', endpointId);
    expect(refused.code).to.equal(1);
    expect(refused.stdout)
      .to.match(/^Status +500$/m)
      .and.match(/^Took +\d+ ms$/m)
      .and.match(/^Answer +no such table$/m);
    expect(refused.stderr).to.equal(
      'hubctl: The test was not delivered: the endpoint answered with status 500.\n',
    );

    await receiver.close();
    const away = await run('test', endpointId, '--output', 'json');
    expect(away.code).to.equal(1);
    expect(JSON.parse(away.stdout)).to.include({ state: 'failed' }).and.have.property('problem');
    expect(JSON.parse(away.stderr).error.code).to.equal('endpoint_test_failed');
  });

  it('shows the last deliveries with their status and problem, and which endpoint fails', async () => {
    const app = await createApp(hub.admin);
    const { endpointId } = await add('--event', 'license.issued', '--app', app);
    receiver.answer = () => 503;
    await issueLicense(hub.admin, { app });
    await until(
      async () => (await json('show', endpointId)).deliveries[0]?.attempts === 1,
      'the delivery has failed',
    );
    const { deliveries, failingSince } = await json('show', endpointId);
    expect(deliveries).to.have.length(1);
    expect(deliveries[0]).to.include({
      state: 'pending',
      responseStatus: 503,
      problem: 'the endpoint answered with status 503',
    });
    expect(failingSince).to.match(/^\d{4}-/);
    expect((await run('show', endpointId)).stdout).to.match(
      /^evt_\S+ +license\.issued +pending +1 .* 503 .*the endpoint answered with status 503$/m,
    );
    expect((await run('list')).stdout).to.match(new RegExp(`^${endpointId} .*failing since \\d{4}-`, 'm'));
    const { endpoints, count } = await json('list');
    expect(endpoints).to.have.length(count);
    expect(endpoints[0]).to.include({ endpointId });
  });

  it('disables with nothing but the id', async () => {
    const { endpointId } = await add('--event', '*');
    expect(await json('disable', endpointId)).to.include({ endpointId, disabledReason: 'no reason given' });
  });

  it('disables with a reason, enables, and removes after a confirmation', async () => {
    const { endpointId } = await add('--event', '*');
    const disabled = await json('disable', endpointId, '--reason', 'the shop moves', '--yes');
    expect(disabled).to.include({ disabledReason: 'the shop moves' }).and.have.property('disabledAt');
    expect((await run('list')).stdout).to.match(
      new RegExp(`^${endpointId} .*disabled since \\S+: the shop moves$`, 'm'),
    );
    expect(await json('enable', endpointId)).to.not.have.any.keys('disabledAt', 'disabledReason');

    expect((await run('remove', endpointId)).code).to.equal(2);
    expect(await json('remove', endpointId, '--yes')).to.deep.equal({ endpointId });
    expect((await run('show', endpointId)).code).to.equal(1);
  });

  it('replaces the secret, and keeps the old one for the given hours', async () => {
    const { endpointId, secret } = await add('--event', 'license.*');
    const kept = await json('rotate-secret', endpointId, '--keep-hours', '48');
    const hours = (Date.parse(kept.previousSecretUntil) - Date.now()) / 3_600_000;
    expect(hours).to.be.within(47.9, 48);
    const dropped = await json('rotate-secret', endpointId, '--keep-hours', '0');
    expect(dropped).to.not.have.property('previousSecretUntil');
    expect(new Set([secret, kept.secret, dropped.secret]).size).to.equal(3);
    const tooLong = await run('rotate-secret', endpointId, '--keep-hours', '169');
    expect(tooLong.stderr).to.contain('--keep-hours');
  });
});
