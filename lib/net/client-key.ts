// Identifies a client for limits, by its address or the one a proxy forwards.
import { isIPv4, isIPv6, SocketAddress } from 'node:net';

/**
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
