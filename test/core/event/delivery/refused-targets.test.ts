// Tricks that lead webhooks to the hub's own network: each is refused, and no connection is opened.
import { createServer } from 'node:http';
import { expect } from 'chai';
import { type AddressPolicy, createAddressPolicy } from '../../../../core/event/delivery/address-policy.ts';
import { createWebhookSender, type WebhookSender } from '../../../../core/event/delivery/send-webhook.ts';
import { type DnsServer, startDnsServer } from '../../../support/network/dns-server.ts';
import { listen, onThisMachine, startTarget, type Target } from './webhook-targets.ts';

const LITERALS = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.000.000.001', '2130706433', '017700000001', '0x7f000001'],
  ...[
    '0x7f.0.0.1',
    '0x7f.1',
    '0177.0.0.1',
    '0177.0x0.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
  ],
  ...['0.0.0.0', '0', '0x0', '[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]', '[::ffff:127.0.0.1]'],
  ...['[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]'],
  ...[
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2002:7f00:1::1]',
  ],
  ...['[2001:0:4136:e378:8000:63bf:80ff:fffe]', '169.254.169.254', '0xa9fea9fe', '[::ffff:169.254.169.254]'],
  ...[
    '[fd00:ec2::254]',
    '[fe80::1]',
    '10.0.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '255.255.255.255',
    '224.0.0.1',
  ],
];

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'loopback6.example': ['::1'],
  'unspecified.example': ['0.0.0.0'],
  'unspecified6.example': ['::'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'compatible.example': ['::127.0.0.1'],
  'nat64.example': ['64:ff9b::127.0.0.1'],
  '6to4.example': ['2002:7f00:1::1'],
  'private.example': ['10.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'unique-local.example': ['fd00:ec2::254'],
  'mixed.example': ['93.184.215.14', '127.0.0.1'],
  'mixed-families.example': ['93.184.215.14', '::1'],
};

const ADVICE = 'HUB_EVENT_ALLOW_NETWORKS can allow';
const webhook = { headers: {}, body: '{}' };

describe('a webhook to the network of the hub', () => {
  let dns: DnsServer;
  let target: Target;
  let target6: Target;
  let sender: WebhookSender;
  let answers: Record<string, readonly (readonly string[])[]>;

  const opened: { close(): Promise<void> }[] = [];
  const keep = <T extends { close(): Promise<void> }>(closable: T): T => {
    opened.push(closable);
    return closable;
  };

  beforeEach(async () => {
    answers = {};
    let asked = 0;
    dns = await startDnsServer((name) => {
      const turns = answers[name];
      // Two queries for each lookup: A and AAAA.
      return turns === undefined ? NAMES[name] : turns[Math.min(Math.floor(asked++ / 2), turns.length - 1)];
    });
    target = await startTarget();
    target6 = await startTarget(() => {}, { port: target.port, address: '::1' });
    sender = createWebhookSender({ policy: policyOf([]), timeoutMs: 2_000 });
  });
  afterEach(async () => {
    await Promise.all([sender, ...opened.splice(0)].map((each) => each.close()));
    await Promise.all([target.close(), target6.close(), dns.close()]);
  });
  const policyOf = (allowed: readonly string[]): AddressPolicy =>
    onThisMachine(createAddressPolicy(allowed, dns));
  const expectNoConnection = (): void => {
    expect([target.connections.length, target6.connections.length], 'connections').to.deep.equal([0, 0]);
  };

  for (const host of LITERALS) {
    it(`is refused at ${host}`, async () => {
      for (const scheme of ['https', 'http']) {
        const result = await sender.send({ ...webhook, url: `${scheme}://${host}:${target.port}/` });
        expect(result).to.deep.include({ kind: 'refused' });
        expect(result)
          .to.have.property('problem')
          .that.matches(/is not a public address/);
      }
      expectNoConnection();
    });
  }

  for (const [name, addresses] of Object.entries(NAMES)) {
    it(`is refused at a name with ${addresses.join(' and ')}`, async () => {
      const result = await sender.send({ ...webhook, url: `https://${name}:${target.port}/` });
      const problem = `${name} has an address that is not a public address; ${ADVICE} its network`;
      expect(result).to.deep.equal({ kind: 'refused', problem });
      expectNoConnection();
    });
  }

  for (const name of ['localhost', 'LOCALHOST', 'hub.localhost', 'ip6-localhost']) {
    it(`is not sent to ${name} with the resolver of the machine`, async () => {
      const own = keep(
        createWebhookSender({ policy: onThisMachine(createAddressPolicy([])), timeoutMs: 5_000 }),
      );
      const result = await own.send({ ...webhook, url: `https://${name}:${target.port}/` });
      // A machine may not know the last two names.
      const kinds = name.includes('-') || name.includes('.') ? ['refused', 'failed'] : ['refused'];
      expect(kinds).to.include(result.kind);
      expectNoConnection();
    });
  }

  it('is refused by a socket that is given an address, whatever the check of the URL says', async () => {
    const policy = { ...policyOf([]), checkUrl: () => undefined };
    const careless = keep(createWebhookSender({ policy }));
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]']) {
      const result = await careless.send({ ...webhook, url: `https://${host}:${target.port}/` });
      expect(result.kind).to.equal('refused');
    }
    expectNoConnection();
  });

  it('is refused after a name has changed', async () => {
    answers['rebind.example'] = [['127.0.0.2'], ['127.0.0.1']];
    const allowed = keep(createWebhookSender({ policy: policyOf(['127.0.0.2']) }));
    const receiver = keep(
      await listen(
        createServer((_, response) => response.writeHead(200, { connection: 'close' }).end('ok')),
        target.port,
        '127.0.0.2',
      ),
    );
    const url = `http://rebind.example:${target.port}/`;
    expect(await allowed.send({ ...webhook, url })).to.deep.include({ kind: 'answered', body: 'ok' });
    // One lookup: the socket does not look the name up again after the check.
    expect(dns.queries.sort()).to.deep.equal(['A rebind.example', 'AAAA rebind.example']);
    expect((await allowed.send({ ...webhook, url })).kind).to.equal('refused');
    expect(receiver.connections).to.have.length(1);
    expectNoConnection();
  });

  it('is not sent on by a redirect', async () => {
    const location = `http://127.0.0.1:${target.port}/`;
    keep(
      await listen(
        createServer((request, response) =>
          response.writeHead(Number(request.url?.slice(1)), { location }).end(),
        ),
        target.port,
        '127.0.0.2',
      ),
    );
    const allowed = keep(createWebhookSender({ policy: policyOf(['127.0.0.2']) }));
    for (const status of [301, 302, 303, 307, 308]) {
      const url = `http://127.0.0.2:${target.port}/${status}`;
      expect(await allowed.send({ ...webhook, url })).to.deep.equal({ kind: 'answered', status, body: '' });
    }
    expectNoConnection();
  });

  it('is refused by plain http to a public address', async () => {
    answers['public.example'] = [['93.184.215.14']];
    const allowed = keep(createWebhookSender({ policy: policyOf(['127.0.0.0/8']) }));
    const result = await allowed.send({ ...webhook, url: 'http://public.example/' });
    const problem = `public.example has an address that needs https://; ${ADVICE} http:// to its network`;
    expect(result).to.deep.equal({ kind: 'refused', problem });
  });
});
