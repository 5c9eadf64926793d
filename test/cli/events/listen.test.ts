// hubctl event listen: a receiver that gets what an endpoint gets.
import type { ChildProcess } from 'node:child_process';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import {
  type ReceivedWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../support/network/webhook-receiver.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { runHere } from '../run-here.ts';
import { startPrinting } from '../spawn-hubctl.ts';

/** Throws if the signature is wrong. */
function verify({ headers, body }: ReceivedWebhook, secret: string): void {
  new Webhook(secret).verify(body, headers);
}

describe('hubctl event listen', () => {
  let hub: TestHub;
  let proxy: TcpProxy;
  let app: string;
  let receiver: WebhookReceiver;
  const running = new Set<ChildProcess>();
  before(async () => {
    hub = await startHub({ settings: { eventAllowNetworks: ['127.0.0.0/8'] } });
    proxy = await startTcpProxy(hub.rpcUrl);
  });
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
    app = await createApp(hub.admin);
  });
  afterEach(async () => {
    for (const child of running) child.kill('SIGKILL');
    running.clear();
    await receiver.close();
  });
  after(async () => {
    await proxy?.down();
    await hub?.stop();
  });
  /** Resolves when the stream is open. */
  const listen = async (url: string, ...words: string[]) => {
    const env = { HUBCTL_SERVER: proxy.url, HUBCTL_TOKEN: hub.token };
    const started = startPrinting(['event', 'listen', '--forward-to', url, '--app', app, ...words], env);
    running.add(started.child);
    const isOpen = () => started.printed.stdout.includes('\n') || started.printed.stderr.includes('\n');
    await until(isOpen, 'the stream is open');
    return started;
  };
  const received = (count: number, by = receiver) =>
    until(() => by.received.length === count, `${count} events have arrived`, 20_000);

  it('posts events exactly as an endpoint gets them, signed with the printed secret', async () => {
    const endpoint = await startWebhookReceiver();
    const add = ['endpoint', 'add', '--url', endpoint.url, '--event', 'license.*', '--app', app];
    expect(await runHere(add, hub)).to.include({ code: 0 });
    const listening = await listen(receiver.url, '--event', 'license.*', '--output', 'json');
    const { licenseId } = await issueLicense(hub.admin, { app });
    await received(1);
    await received(1, endpoint);
    await endpoint.close();
    const [forwarded, delivered] = [receiver.received[0], endpoint.received[0]];
    if (forwarded === undefined || delivered === undefined) throw new Error('nothing has arrived');
    expect(forwarded.body).to.equal(delivered.body);
    expect(forwarded.event.data).to.include({ licenseId });
    expect(Object.keys(forwarded.headers).sort()).to.deep.equal(Object.keys(delivered.headers).sort());
    for (const name of ['webhook-id', 'content-type', 'user-agent', 'content-length']) {
      expect(forwarded.headers[name], name).to.equal(delivered.headers[name]);
    }

    await until(() => listening.printed.stdout.split('\n').length === 3, 'the event is printed');
    const [first = '', second = ''] = listening.printed.stdout.split('\n');
    const { secret, forwardTo } = JSON.parse(first);
    expectPrinted('event listen', JSON.parse(first));
    expect(forwardTo).to.equal(receiver.url);
    verify(forwarded, secret);
    const line = JSON.parse(second);
    expectPrinted('event listen', line);
    expect(line).to.include({
      type: 'license.issued',
      eventId: forwarded.headers['webhook-id'],
      status: 204,
    });
  });

  it('keeps a given secret to itself, prints failures, follows no redirect, and goes on', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const listening = await listen(receiver.url.replace('127.0.0.1', 'localhost'), '--secret', secret);
    receiver.answer = (_, response) => {
      response.writeHead(302, { location: '/elsewhere' }).end();
      return undefined;
    };
    await issueLicense(hub.admin, { app });
    await received(1);
    await until(() => listening.printed.stdout.includes(' 302 '), 'the redirect is printed');
    receiver.answer = (_, response) => {
      response.destroy();
      return undefined;
    };
    await issueLicense(hub.admin, { app });
    await until(
      () => listening.printed.stdout.includes('it closed the connection'),
      'the failure is printed',
    );
    receiver.answer = () => 200;
    await issueLicense(hub.admin, { app });
    await until(() => listening.printed.stdout.includes(' 200 '), 'the third event is printed');
    expect(receiver.received).to.have.length(3);
    for (const webhook of receiver.received) verify(webhook, secret);
    listening.child.kill('SIGINT');
    const { signal, stdout, stderr } = await listening.end;
    expect(signal).to.equal('SIGINT');
    expect(stdout + stderr).to.not.contain('whsec_');
    expect(stdout).to.match(/^license\.issued +evt_\w+ {2}302 {2}\d+ ms\n/);
  });

  it('continues after an outage with the events that it missed', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const listening = await listen(receiver.url, '--secret', secret, '--output', 'json');
    expect(JSON.parse(listening.printed.stdout)).to.deep.equal({ forwardTo: receiver.url });
    await issueLicense(hub.admin, { app });
    await received(1);
    await proxy.down();
    const missed = await issueLicense(hub.admin, { app });
    await proxy.up();
    await received(2);
    expect(receiver.received[1]?.event.data).to.include({ licenseId: missed.licenseId });
  });

  it('refuses a wrong URL and a wrong secret, which it does not print', async () => {
    const run = (...words: string[]) => runHere(['event', 'listen', ...words], hub);
    const url = await run('--forward-to', 'localhost:3000/hook');
    expect(url).to.include({ code: 2, stdout: '' });
    expect(url.stderr).to.contain('--forward-to: the URL must begin with http:// or https://');
    const credentials = await run('--forward-to', 'http://ada:horse@localhost/');
    expect(credentials.stderr).to.contain('--forward-to: the URL must not contain credentials');
    const secret = await run('--forward-to', receiver.url, '--secret', 'whsec_c2hvcnQ=');
    expect(secret).to.include({ code: 2, stdout: '' });
    expect(secret.stderr).to.contain('--secret: the secret must encode').and.not.contain('c2hvcnQ');
  });
});
