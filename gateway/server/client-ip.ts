// Finds the address of the client behind trusted proxies.
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIPv4 } from 'node:net';
import { normalAddress } from '../../lib/net/client-limits.ts';
import { listItems, networkFault } from '../../lib/net/network-syntax.ts';

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

/** Creates the function that checks whether a socket's peer is a trusted proxy. */
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
