// hubctl event tail against a hub, during an outage, and behind pruned events.
import type { ChildProcess } from 'node:child_process';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { runHere } from '../run-here.ts';
import { startPrinting } from '../spawn-hubctl.ts';

describe('hubctl event tail', () => {
  let hub: TestHub;
  let proxy: TcpProxy;
  const running = new Set<ChildProcess>();
  before(async () => {
    hub = await startHub();
    proxy = await startTcpProxy(hub.rpcUrl);
  });
  afterEach(() => {
    for (const child of running) child.kill('SIGKILL');
    running.clear();
  });
  after(async () => {
    await proxy?.down();
    await hub?.stop();
  });
  const tail = (...words: string[]) => {
    const env = { HUBCTL_SERVER: proxy.url, HUBCTL_TOKEN: hub.token };
    const started = startPrinting(['event', 'tail', ...words], env);
    running.add(started.child);
    return started;
  };
  const linesOf = ({ printed }: ReturnType<typeof tail>): string[] => printed.stdout.split('\n').slice(0, -1);

  it('prints a JSON line for each event, misses none during an outage, and ends with Ctrl-C', async () => {
    const app = await createApp(hub.admin);
    const first = await issueLicense(hub.admin, { app });
    const tailing = tail('--cursor', '0', '--app', app, '--type', 'license.*', '--output', 'json');
    await until(() => linesOf(tailing).length === 1, 'the first event is printed');
    await proxy.down();
    const second = await issueLicense(hub.admin, { app });
    await proxy.up();
    await until(() => linesOf(tailing).length === 2, 'the second event is printed', 20_000);
    await hub.admin.suspendLicense({ licenseId: second.licenseId, reason: 'unpaid' });
    await until(() => linesOf(tailing).length === 3, 'the third event is printed');
    tailing.child.kill('SIGINT');
    const { signal, stderr } = await tailing.end;
    expect({ signal, stderr }).to.deep.equal({ signal: 'SIGINT', stderr: '' });
    const events = linesOf(tailing).map((line) => JSON.parse(line));
    for (const event of events) {
      expectPrinted('event tail', event);
      expect(event.cursor).to.equal(String(event.sequence));
    }
    expect(events.map(({ type, object, data }) => [type, object, data.licenseId])).to.deep.equal([
      ['license.issued', first.licenseId, first.licenseId],
      ['license.issued', second.licenseId, second.licenseId],
      ['license.suspended', second.licenseId, second.licenseId],
    ]);
  });

  it('continues after a cursor, as text, and reports an outage', async () => {
    const app = await createApp(hub.admin);
    const { licenseId } = await issueLicense(hub.admin, { app });
    await issueLicense(hub.admin, { app });
    const events = createClient(EventService, hub.transport);
    let cursor = '';
    await until(async () => {
      const { events: found } = await events.listEvents({ app });
      cursor = String(found.at(-1)?.sequence);
      return found.length === 2;
    }, 'the events are numbered');
    const tailing = tail('--cursor', cursor, '--app', app);
    await until(() => linesOf(tailing).length === 1, 'the second event is printed');
    const [line = ''] = linesOf(tailing);
    expect(line)
      .to.match(/^\S+Z {2}\d+ {2}license\.issued +lic_\w+ {2}evt_\w+$/)
      .and.not.contain(licenseId);
    await proxy.down();
    await until(() => tailing.printed.stderr.includes('trying again'), 'the hub is missed');
    await proxy.up();
    await until(() => tailing.printed.stderr.includes('The hub answers again.'), 'it is back', 20_000);
    expect(linesOf(tailing)).to.have.length(1);
  });

  it('ends with the message of the hub behind pruned events, and for a wrong type', async () => {
    await issueLicense(hub.admin);
    const events = createClient(EventService, hub.transport);
    await until(async () => (await events.listEvents({})).events.length > 3, 'the events are numbered');
    await query(hub.databaseUrl, 'delete from event where number <= 3');
    const pruned = await runHere(['event', 'tail', '--cursor', '1', '--output', 'json'], hub);
    expect(pruned.code).to.equal(1);
    expect(JSON.parse(pruned.stderr).error.code).to.equal('cursor_pruned');
    expect(pruned.stderr).to.contain('--cursor').and.contain('start without a cursor');
    const wrong = await runHere(['event', 'tail', '--type', 'licence.*'], hub);
    expect(wrong.code).to.equal(2);
    expect(wrong.stderr).to.match(/^hubctl: --type: there is no event type "licence\.\*"/);
  });
});
