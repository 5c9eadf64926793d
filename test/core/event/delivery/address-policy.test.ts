// The URLs and addresses that webhooks may reach.
import type { LookupAddress, LookupOptions } from 'node:dns';
import { expect } from 'chai';
import {
  AddressRefused,
  createAddressPolicy,
  type Scheme,
} from '../../../../core/event/delivery/address-policy.ts';
import { parseAllowedNetworks } from '../../../../core/event/delivery/allowed-networks.ts';
import { type DnsServer, startDnsServer } from '../../../support/network/dns-server.ts';

const strict = createAddressPolicy([]);
const lenient = createAddressPolicy(['127.0.0.0/8', '10.1.0.0/16', '::1/128', '192.168.7.7']);

describe('the URL of a webhook', () => {
  const longName = (length: number): string => `${'a.'.repeat(length).slice(0, length - 3)}.io`;
  const accepted = [
    'https://example.com',
    'https://example.com:65535/hook?tenant=1',
    'https://93.184.215.14/hook',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/hook',
    'https://bücher.example/hook',
    `https://${longName(253)}/hook`,
  ];
  for (const url of accepted) {
    it(`may be ${url.slice(0, 60)}`, () => expect(strict.checkUrl(url)).to.equal(undefined));
  }

  const refused: readonly (readonly [string, RegExp])[] = [
    ['', /^must be a URL/],
    ['hook', /^must be a URL/],
    ['https://', /^must be a URL/],
    ['https://exa mple.com', /^must be a URL/],
    [' https://example.com', /^must be a URL/],
    ['https://example.com/\thook', /^must be a URL/],
    ['https://example.com:65536', /^must be a URL/],
    ['https://256.0.0.1', /^must be a URL/],
    ['https://[fe80::1%25eth0]/', /^must be a URL/],
    ['https://[fe80::1%eth0]/', /^must be a URL/],
    ['https://example.com:0', /^must have a port from 1 to 65535$/],
    ['ftp://example.com', /^must begin with https:\/\/$/],
    ['file:///etc/passwd', /^must begin with https:\/\/$/],
    [
      'http://example.com',
      /^must begin with https:\/\/, because HUB_EVENT_ALLOW_NETWORKS allows no network$/,
    ],
    ['http://93.184.215.14', /needs https:\/\/; HUB_EVENT_ALLOW_NETWORKS can allow/],
    ['https://user@example.com', /^must not contain credentials$/],
    ['https://:password@example.com', /^must not contain credentials$/],
    ['https://example.com/#part', /^must not contain a fragment$/],
    ['https://example.com/#', /^must not contain a fragment$/],
    ['https://example.com./', /^must have a host without a dot at its end$/],
    [`https://${longName(254)}/`, /^must have a host of at most 253 characters$/],
    [`https://example.com/${'a'.repeat(2048)}`, /^must have at most 2048 characters$/],
  ];
  for (const [url, problem] of refused) {
    it(`may not be ${JSON.stringify(url.slice(0, 60))}`, () =>
      expect(strict.checkUrl(url)).to.match(problem));
  }

  it('may be plain http to a name, if any network is allowed: its addresses decide', () => {
    expect(lenient.checkUrl('http://hooks.internal:8080/hook')).to.equal(undefined);
  });

  for (const host of [
    '127.0.0.1',
    '10.1.255.255',
    '[::1]',
    '192.168.7.7',
    '[::ffff:10.1.2.3]',
    '2130706433',
  ]) {
    it(`may have the host ${host} in an allowed network, also by plain http`, () => {
      expect(lenient.checkUrl(`http://${host}:3000/`)).to.equal(undefined);
      expect(lenient.checkUrl(`https://${host}:3000/`)).to.equal(undefined);
    });
  }

  for (const host of [
    '10.2.0.1',
    '192.168.7.8',
    '[::2]',
    '[2002:a01:203::1]',
    '[64:ff9b::a01:203]',
    '[::10.1.2.3]',
  ]) {
    it(`may not have the host ${host} outside the allowed networks`, () => {
      expect(lenient.checkUrl(`https://${host}:3000/`)).to.match(/is not a public address/);
    });
  }

  it('may have an address of a translator in an allowed network of IPv6', () => {
    const policy = createAddressPolicy(['64:ff9b:1::/48']);
    expect(policy.checkUrl('https://[64:ff9b:1::a01:203]/')).to.equal(undefined);
    expect(strict.checkUrl('https://[64:ff9b:1::a01:203]/')).to.match(/is not a public address/);
  });
});

describe('an address', () => {
  const isRefused = (address: string): boolean => strict.checkAddress(address, 'https:') !== undefined;

  const open = [
    ...[
      '1.1.1.1',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
    ],
    ...[
      '169.253.255.255',
      '172.15.255.255',
      '172.32.0.0',
      '192.167.255.255',
      '192.169.0.0',
      '198.17.255.255',
    ],
    ...[
      '198.20.0.0',
      '223.255.255.255',
      '168.63.129.15',
      '2606:4700::1111',
      '2a00:1450::1',
      '::ffff:1.1.1.1',
    ],
    ...['64:ff9b::1.1.1.1', '2002:101:101::1'],
  ];
  for (const address of open) it(`${address} is public`, () => expect(isRefused(address)).to.equal(false));

  const closed: Readonly<Record<string, readonly string[]>> = {
    unspecified: ['0.0.0.0', '0.255.255.255', '::'],
    loopback: ['127.0.0.1', '127.255.255.255', '::1'],
    private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
    'carrier-grade NAT': ['100.64.0.0', '100.127.255.255', '100.100.100.200'],
    'link-local': ['169.254.0.0', '169.254.255.255', 'fe80::1', 'febf::1', 'fe80::1%eth0'],
    'unique local': ['fc00::1', 'fdff::1'],
    'site-local': ['fec0::1'],
    metadata: ['169.254.169.254', 'fd00:ec2::254', '192.0.0.192', '168.63.129.16'],
    documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
    benchmarking: ['198.18.0.0', '198.19.255.255', '2001:2::1'],
    multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
    'reserved or broadcast': ['240.0.0.1', '255.255.255.254', '255.255.255.255', '192.0.0.1', '192.88.99.1'],
    'unassigned or discarded': ['100::1', '4000::1', '5f00::1', '::127.0.0.1', '::8.8.8.8', '200::1'],
    'a mapped one of these': ['::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:0:127.0.0.1', '::ffff:0:0'],
    'a NAT64 one of these': ['64:ff9b::127.0.0.1', '64:ff9b::10.0.0.1', '64:ff9b::a9fe:a9fe'],
    'local-use NAT64': ['64:ff9b:1::1.1.1.1', '64:ff9b:1:ffff::7f00:1'],
    'a 6to4 one of these': ['2002:7f00:1::1', '2002:a00:1::1', '2002:a9fe:a9fe::', '2002:c0a8:101::1'],
    Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    'public with a zone': ['2606:4700::1111%eth0'],
  };
  for (const [kind, addresses] of Object.entries(closed)) {
    it(`is refused if it is ${kind}: ${addresses.join(', ')}`, () => {
      expect(addresses.filter((address) => !isRefused(address))).to.deep.equal([]);
    });
  }
});

describe('the allowed networks', () => {
  it('are separated by commas or white space', () => {
    expect(
      parseAllowedNetworks(' 127.0.0.0/8,10.1.0.0/16\n::1/128 fd00::/8 0.0.0.0/0 10.0.0.1'),
    ).to.deep.equal([...['127.0.0.0/8', '10.1.0.0/16', '::1/128', 'fd00::/8', '0.0.0.0/0', '10.0.0.1']]);
    expect(parseAllowedNetworks('')).to.deep.equal([]);
  });

  const wrong: Readonly<Record<string, string>> = {
    localhost: '"localhost" is neither an IP address nor a CIDR range',
    '127.1/8': '"127.1/8" is neither an IP address nor a CIDR range',
    '0x7f000001': '"0x7f000001" is neither an IP address nor a CIDR range',
    'fe80::1%eth0/64': '"fe80::1%eth0/64" is neither an IP address nor a CIDR range',
    '10.0.0.0/33': '"10.0.0.0/33" needs a prefix length from 0 to 32 after the slash',
    '::1/129': '"::1/129" needs a prefix length from 0 to 128 after the slash',
    '10.0.0.0/': '"10.0.0.0/" needs a prefix length',
    '10.1.2.3/8': '"10.1.2.3/8" is not a network; write 10.0.0.0/8',
    'fd00::1/8': '"fd00::1/8" is not a network; write fd00::/8',
    '::ffff:10.0.0.0/104': '"::ffff:10.0.0.0/104" is a range of IPv4-mapped addresses; write it as IPv4',
  };
  for (const [item, problem] of Object.entries(wrong)) {
    it(`may not contain ${item}`, () => {
      expect(() => parseAllowedNetworks(`127.0.0.0/8,${item}`)).to.throw(`allowed networks: ${problem}`);
      expect(() => createAddressPolicy([item])).to.throw(problem);
    });
  }
});

describe('the lookup of a name', () => {
  const NAMES: Readonly<Record<string, readonly string[]>> = {
    'public.example': ['93.184.215.14', '2606:2800:21f::1'],
    'v4.example': ['93.184.215.14'],
    'private.example': ['10.1.0.1'],
    'mixed.example': ['93.184.215.14', '10.1.0.1'],
    'mixed6.example': ['93.184.215.14', '::ffff:127.0.0.1'],
    'none.example': [],
    localhost: ['127.0.0.1', '::1'],
    'mixed.localhost': ['127.0.0.1', '10.1.0.1'],
    'local.example': ['127.0.0.1', '::1'],
  };
  let dns: DnsServer;
  before(async () => {
    dns = await startDnsServer((name) => NAMES[name]);
  });
  after(() => dns.close());

  const lookup = (
    name: string,
    { allowed = [], scheme = 'https:', ...options }: Wanted = {},
  ): Promise<string | LookupAddress[]> =>
    new Promise((resolve, reject) => {
      createAddressPolicy(allowed, dns).lookups[scheme](name, options, (error, found, family) => {
        if (error) reject(error);
        else resolve(typeof found === 'string' ? `${found} ${family}` : found);
      });
    });
  type Wanted = LookupOptions & { readonly allowed?: readonly string[]; readonly scheme?: Scheme };
  const refusal = (name: string, wanted?: Wanted) =>
    lookup(name, wanted).then(
      (found) => expect.fail(`it found ${JSON.stringify(found)}`),
      (error: Error) => error,
    );

  it('returns the addresses of both families', async () => {
    expect(await lookup('public.example', { all: true })).to.deep.equal([
      { address: '93.184.215.14', family: 4 },
      { address: '2606:2800:21f::1', family: 6 },
    ]);
  });

  it('returns one address, or those of a family, if the caller asks so', async () => {
    expect(await lookup('public.example')).to.equal('93.184.215.14 4');
    expect(await lookup('public.example', { family: 6 })).to.equal('2606:2800:21f::1 6');
    expect(await lookup('public.example', { family: 'IPv4', all: true })).to.have.length(1);
    expect(await refusal('v4.example', { family: 6 })).to.have.property('code', 'ENOTFOUND');
  });

  for (const name of ['private.example', 'mixed.example', 'mixed6.example']) {
    it(`refuses ${name}, whose family or order does not matter`, async () => {
      for (const options of [{}, { all: true }, { family: 4 }]) {
        const error = await refusal(name, options);
        expect(error).to.be.instanceOf(AddressRefused);
        expect(error.message).to.match(new RegExp(`^${name} has an address that is not a public address; `));
        expect(error.message).to.not.match(/10\.1|127\.0/);
      }
    });
  }

  it('accepts addresses of allowed networks beside public ones', async () => {
    expect(await lookup('mixed.example', { all: true, allowed: ['10.1.0.0/16'] })).to.have.length(2);
  });

  it('refuses public addresses for plain http', async () => {
    const plain = { scheme: 'http:', allowed: ['10.1.0.0/16'] } as const;
    expect(await lookup('private.example', plain)).to.equal('10.1.0.1 4');
    for (const name of ['public.example', 'mixed.example']) {
      expect(await refusal(name, plain)).to.be.instanceOf(AddressRefused);
    }
  });

  it('leaves out addresses of localhost that are not allowed, if one is', async () => {
    for (const name of ['localhost', 'mixed.localhost']) {
      const wanted = { all: true, scheme: 'http:', allowed: ['127.0.0.0/8'] } as const;
      expect(await lookup(name, wanted)).to.deep.equal([{ address: '127.0.0.1', family: 4 }]);
      expect(await refusal(name, { all: true })).to.be.instanceOf(AddressRefused);
      expect(await refusal(name, { ...wanted, allowed: ['192.168.0.0/16'] })).to.be.instanceOf(
        AddressRefused,
      );
    }
    const other = { scheme: 'http:', allowed: ['127.0.0.0/8'] } as const;
    expect(await refusal('local.example', other)).to.be.instanceOf(AddressRefused);
  });

  it('reports a name without addresses', async () => {
    expect(await refusal('none.example')).to.have.property('code', 'ENOTFOUND');
  });
});
