// Requests that come through proxies: the address of the client, and requests that a proxy may read differently.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIPv4, isIPv6, SocketAddress } from 'node:net';
import { listItems, networkFault } from './network-syntax.ts';

export type ProxyHeader = 'x-forwarded-for' | 'forwarded';

export type ClientIpOptions = { trustedProxies: readonly string[]; proxyHeader: ProxyHeader };

/** Returns the client's address, given the address of the socket's peer and the request's headers. */
export type ClientIp = (peer: string | undefined, headers: IncomingHttpHeaders) => string;

/**
 * Creates the function that finds a client's address. A peer that is not a trusted proxy is the client. For a
 * trusted proxy the header is read from right to left, and the first untrusted address is the client. If an
 * entry is not an address or none is left, the result is the last trusted address.
 * Only the configured header is read: a proxy that sets one of them forwards a forged other one.
 */
export function createClientIp({ trustedProxies, proxyHeader }: ClientIpOptions): ClientIp {
  const trusted = trustedProxies.length > 0 ? blockListOf(trustedProxies) : undefined;
  const addressIn = proxyHeader === 'forwarded' ? forwardedFor : nodeAddress;
  return (peer, headers) => {
    let address = normalAddress(peer ?? '') ?? UNKNOWN;
    if (trusted === undefined) return address;
    const value = headers[proxyHeader];
    let rest = typeof value === 'string' ? value : '';
    // Valid entries contain no comma, so an unbalanced quote further left cannot hide this entry.
    while (rest !== '' && isTrusted(trusted, address)) {
      const comma = rest.lastIndexOf(',');
      const next = addressIn(rest.slice(comma + 1).trim());
      if (next === undefined) break;
      address = next;
      rest = rest.slice(0, Math.max(comma, 0));
    }
    return address;
  };
}

/**
 * Parses addresses and CIDR ranges separated by commas or white space.
 * @throws Error that lists every wrong item
 */
export function parseTrustedProxies(text: string): string[] {
  const items = listItems(text);
  const wrong = items.flatMap((item) => networkFault(item) ?? []);
  if (wrong.length > 0) throw new Error(`trusted proxies: ${wrong.join('; ')}`);
  return items;
}

export function createIsProxy(trustedProxies: readonly string[]): (peer: string) => boolean {
  const trusted = blockListOf(trustedProxies);
  return (peer) => isTrusted(trusted, normalAddress(peer) ?? UNKNOWN);
}

const UNKNOWN = 'unknown';

function blockListOf(items: readonly string[]): BlockList {
  const list = new BlockList();
  for (const item of items) {
    const [address = '', prefix] = item.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

function isTrusted(trusted: BlockList, address: string): boolean {
  if (address === UNKNOWN) return false;
  return trusted.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

/** The address in `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`. */
function nodeAddress(text: string): string | undefined {
  const plain = normalAddress(text);
  if (plain !== undefined) return plain;
  const found = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text);
  return normalAddress(found?.[1] ?? found?.[2] ?? '');
}

const FORWARDED_PAIR = /\s*([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~-]+)|"((?:[^"\\]|\\.)*)")\s*(?:;|$)/y;

/** The address in the `for` parameter of one element of a Forwarded header (RFC 7239 section 4). */
function forwardedFor(element: string): string | undefined {
  let node: string | undefined;
  let end = 0;
  while (end < element.length) {
    FORWARDED_PAIR.lastIndex = end;
    const pair = FORWARDED_PAIR.exec(element);
    if (pair === null) return undefined;
    end = FORWARDED_PAIR.lastIndex;
    if (pair[1]?.toLowerCase() !== 'for') continue;
    if (node !== undefined) return undefined;
    node = pair[2] ?? pair[3]?.replace(/\\(.)/g, '$1') ?? '';
  }
  return node === undefined ? undefined : nodeAddress(node);
}

/**
 * Identifies a client for limits, by its address or the one a proxy forwards.
 * Returns an IPv4 address, or the /64 network of an IPv6 address, which belongs to one subscriber. Returns
 * other text unchanged.
 */
export function clientKey(address: string): string {
  const ip = normalAddress(address) ?? address;
  if (isIPv4(ip) || !ip.includes(':')) return ip;
  const [left = '', right] = ip.split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right ? right.split(':') : [];
  const zeros = right === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array<string>(zeros).fill('0'), ...tail].slice(0, 4).join(':');
}

/**
 * Returns the canonical form of an address, an IPv4-mapped IPv6 address as IPv4; undefined if it is not an
 * address.
 */
export function normalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return undefined;
  const zone = text.indexOf('%');
  const bare = zone === -1 ? text : text.slice(0, zone);
  const { address } = new SocketAddress({ address: bare, family: 'ipv6' });
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : '';
  return isIPv4(mapped) ? mapped : address;
}

/**
 * Returns why two servers may parse an HTTP/1 request differently (request smuggling, RFC 9112 sections 3.2 and
 * 6.1), as text for its sender; undefined if its host and the end of its body are certain. Node's strict parser
 * refuses other malformed requests.
 */
export function findSmugglingSign({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (!httpVersion.startsWith('1.')) return 'Send HTTP/1.1.';
  if (headers.host === undefined && httpVersion === '1.1') return 'The request needs a Host header.';
  // Node joins repeated header lines with commas.
  const coding = headers['transfer-encoding'] ?? 'chunked';
  if (coding.toLowerCase() === 'chunked' && countHosts(rawHeaders) <= 1) return undefined;
  return 'Host may appear only once, and Transfer-Encoding only as chunked.';
}

/** Reads the raw headers: `headers` keeps only the first Host. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}
