// hubctl event list, show, replay, run as a person would against a hub.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { type Printed, runHere } from '../run-here.ts';

describe('hubctl event', () => {
  let hub: TestHub;
  let receiver: WebhookReceiver;
  let app: string;
  let licenseId: string;
  before(async () => {
    hub = await startHub({ settings: { eventAllowNetworks: ['127.0.0.0/8'] } });
    receiver = await startWebhookReceiver();
    app = await createApp(hub.admin);
    ({ licenseId } = await issueLicense(hub.admin, { app }));
    await hub.admin.suspendLicense({ licenseId, reason: 'unpaid' });
    await issueLicense(hub.admin, { app });
    await until(async () => (await json('list', '--app', app)).count === 3, 'the events are numbered');
  });
  after(async () => {
    await receiver?.close();
    await hub?.stop();
  });

  const run = (...words: string[]): Promise<Printed> => runHere(['event', ...words], hub);
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await run(...words, '--output', 'json');
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    const value = JSON.parse(stdout);
    expectPrinted(`event ${words[0]}`, value);
    return value;
  };

  it('lists events, newest first, by type, object and app', async () => {
    const typesOf = async (...words: string[]) =>
      (await json('list', '--app', app, ...words)).events.map(({ type }: { type: string }) => type);
    expect(await typesOf()).to.deep.equal(['license.issued', 'license.suspended', 'license.issued']);
    expect(await typesOf('--object', licenseId)).to.deep.equal(['license.suspended', 'license.issued']);
    expect(await typesOf('--type', 'license.suspended', '--type', 'seat.*')).to.deep.equal([
      'license.suspended',
    ]);
    expect(await typesOf('--max', '1')).to.deep.equal(['license.issued']);
    const { events } = await json('list', '--object', licenseId);
    expect(events[0]).to.include({ object: licenseId, app }).and.have.property('sequence').above(1);

    expect((await run('list', '--type', 'licence.*')).stderr).to.match(
      /^hubctl: --type: there is no event type/,
    );
    expect((await run('list', '--object', 'lic_none')).stderr).to.equal('No event matches.\n');
  });

  it('lists events as a table and as CSV', async () => {
    const { stdout } = await run('list', '--object', licenseId);
    expect(stdout).to.match(/^EVENT +SEQUENCE +TYPE +CREATED +OBJECT +APP +SLOT\nevt_/);
    const directory = await mkdtemp(join(tmpdir(), 'hub-test-'));
    const file = join(directory, 'events.csv');
    await run('list', '--object', licenseId, '--out', file);
    const [header, first] = (await readFile(file, 'utf8')).split('\r\n');
    await rm(directory, { recursive: true });
    expect(header).to.equal('eventId,type,createdAt,object,sequence,app,slot');
    expect(first).to.match(new RegExp(`^evt_\\w+,license\\.suspended,\\S+,${licenseId},\\d+,${app},$`));
    expect((await run('list', '--object', licenseId, '--format', 'csv')).stdout).to.contain(`${first}\r\n`);
    expect((await run('list', '--format', 'csv', '--output', 'json')).code).to.equal(2);
  });

  it('delivers an event again, and shows it with its data and deliveries', async () => {
    const add = ['endpoint', 'add', '--url', receiver.url, '--event', 'seat.*', '--output', 'json'];
    const { endpointId } = JSON.parse((await runHere(add, hub)).stdout);
    const { events } = await json('list', '--object', licenseId, '--max', '1');
    const { eventId } = events[0];
    expect(await json('show', eventId)).to.deep.include({ eventId, deliveries: [] });

    expect(await json('replay', eventId, '--endpoint', endpointId)).to.include({ eventId, endpointId });
    await until(
      async () => (await json('show', eventId)).deliveries[0]?.state === 'delivered',
      'it is delivered',
    );
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).to.deep.equal([eventId]);
    const shown = await json('show', eventId);
    expect(shown.data).to.deep.equal(receiver.received[0]?.event.data);
    expect(shown.data).to.include({ licenseId, suspendReason: 'unpaid' });
    const { stdout } = await run('show', eventId);
    expect(stdout)
      .to.contain('"suspendReason": "unpaid"')
      .and.match(new RegExp(`^${endpointId} +delivered +1 .* 204 `, 'm'));

    expect((await run('replay', 'evt_01k8e7v0c5eaxbgqm2tq1h9n3r', '--endpoint', endpointId)).code).to.equal(
      1,
    );
    const other = await run('replay', eventId, '--endpoint', licenseId);
    expect(other.stderr).to.contain('--endpoint').and.contain('this is the id of a license');
  });
});
