// Who the client is, with and without proxies in between.
import { expect } from 'chai';
import { type ClientIpOptions, createClientIp, parseTrustedProxies } from '../../../lib/net/proxies.ts';

const PROXIES = ['10.0.0.0/8', '192.0.2.1', 'fd00::/8'];

function ipOf(
  peer: string | undefined,
  header: string | undefined,
  options: Partial<ClientIpOptions> = {},
): string {
  const proxyHeader = options.proxyHeader ?? 'x-forwarded-for';
  const clientIp = createClientIp({ trustedProxies: PROXIES, proxyHeader, ...options });
  return clientIp(peer, header === undefined ? {} : { [proxyHeader]: header });
}

describe('the client address', () => {
  it('is the peer without trusted proxies', () => {
    expect(ipOf('10.0.0.1', '203.0.113.7', { trustedProxies: [] })).to.equal('10.0.0.1');
  });

  it('is the peer if the peer is not a trusted proxy', () => {
    expect(ipOf('203.0.113.9', '203.0.113.7')).to.equal('203.0.113.9');
  });

  it('is an IPv4 address for an IPv4-mapped IPv6 address', () => {
    expect(ipOf('::ffff:203.0.113.9', undefined)).to.equal('203.0.113.9');
    expect(ipOf('::ffff:10.0.0.1', '203.0.113.7')).to.equal('203.0.113.7');
  });

  it('is canonical and without a zone', () => {
    expect(ipOf('2001:DB8:0:0:0:0:0:1', undefined)).to.equal('2001:db8::1');
    expect(ipOf('fe80::1%eth0', undefined)).to.equal('fe80::1');
  });

  it('is "unknown" for a closed socket', () => {
    expect(ipOf(undefined, '203.0.113.7')).to.equal('unknown');
  });

  it('is the trusted proxy if it sends no header', () => {
    expect(ipOf('10.0.0.1', undefined)).to.equal('10.0.0.1');
  });
});

describe('X-Forwarded-For', () => {
  it('is read from the right over trusted proxies', () => {
    expect(ipOf('10.0.0.1', '6.6.6.6, 203.0.113.7, 192.0.2.1, fd00::5')).to.equal('203.0.113.7');
  });

  it('yields the leftmost address if all are trusted', () => {
    expect(ipOf('10.0.0.1', '10.0.0.3,10.0.0.2')).to.equal('10.0.0.3');
  });

  it('can contain ports and brackets', () => {
    expect(ipOf('10.0.0.1', '203.0.113.7:5121')).to.equal('203.0.113.7');
    expect(ipOf('10.0.0.1', '[2001:db8::7]:5121')).to.equal('2001:db8::7');
    expect(ipOf('10.0.0.1', '2001:db8::7')).to.equal('2001:db8::7');
  });

  it('falls back to the last trusted address before the first invalid one', () => {
    expect(ipOf('10.0.0.1', '203.0.113.7, unknown, 10.0.0.2')).to.equal('10.0.0.2');
    expect(ipOf('10.0.0.1', '203.0.113.7, 999.1.1.1')).to.equal('10.0.0.1');
    expect(ipOf('10.0.0.1', '203.0.113.7,')).to.equal('10.0.0.1');
    expect(ipOf('10.0.0.1', '1.2.3.4:port')).to.equal('10.0.0.1');
  });

  it('is ignored if Forwarded is the configured header', () => {
    const clientIp = createClientIp({ trustedProxies: PROXIES, proxyHeader: 'forwarded' });
    expect(clientIp('10.0.0.1', { 'x-forwarded-for': '203.0.113.7' })).to.equal('10.0.0.1');
  });
});

describe('Forwarded', () => {
  const forwarded = (header: string): string => ipOf('10.0.0.1', header, { proxyHeader: 'forwarded' });

  it('is read from the for parameter, in any letter case and order', () => {
    expect(forwarded('for=203.0.113.7')).to.equal('203.0.113.7');
    expect(forwarded('proto=https; For="203.0.113.7:80" ;by=10.0.0.1')).to.equal('203.0.113.7');
    expect(forwarded('for="[2001:db8::7]:4711"')).to.equal('2001:db8::7');
    expect(forwarded('for="[2001:db8::\\7]"')).to.equal('2001:db8::7');
  });

  it('is read from the right over trusted proxies', () => {
    expect(forwarded('for=6.6.6.6, for=203.0.113.7;proto=http, for="[fd00::5]"')).to.equal('203.0.113.7');
  });

  it('falls back to the last trusted address for hidden, missing, repeated and broken ones', () => {
    for (const header of [
      'for=_hidden',
      'for=unknown',
      'by=10.0.0.9',
      'for=1.1.1.1;for=2.2.2.2',
      'for="',
      'x',
    ]) {
      expect(forwarded(header), header).to.equal('10.0.0.1');
    }
  });

  it('cannot be hidden by an unclosed quote of the client', () => {
    expect(forwarded('for="6.6.6.6, for=203.0.113.7')).to.equal('203.0.113.7');
    expect(forwarded('for=203.0.113.7;host="a, for=6.6.6.6"')).to.equal('10.0.0.1');
  });
});

describe('the list of trusted proxies', () => {
  it('accepts addresses and ranges separated by commas and white space', () => {
    expect(parseTrustedProxies(' 10.0.0.0/8,192.0.2.1\n ::1 , fd00::/8')).to.deep.equal([
      '10.0.0.0/8',
      '192.0.2.1',
      '::1',
      'fd00::/8',
    ]);
    expect(parseTrustedProxies('')).to.deep.equal([]);
  });

  it('is refused with every wrong item', () => {
    const parse = (): string[] => parseTrustedProxies('10.0.0.0/33, ::1, proxy.local, 1.2.3.4/8/8, fd00::/x');
    expect(parse).to.throw('trusted proxies: "10.0.0.0/33" needs a prefix length from 0 to 32');
    expect(parse).to.throw('"proxy.local" is neither an IP address nor a CIDR range');
    expect(parse).to.throw('"1.2.3.4/8/8" is neither');
    expect(parse).to.throw('"fd00::/x" needs a prefix length from 0 to 128');
    expect(parse).not.to.throw('"::1"');
  });
});
