// Decides whether an IP address is a public unicast address. Checks embedded IPv4 addresses too.
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

/** The addresses of IPv6 that IANA assigns to hosts of the Internet (RFC 4291 section 2.4). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** The well-known prefix of NAT64 (RFC 6052). The local-use one, 64:ff9b:1::/48, is not public (RFC 8215). */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** Azure's metadata service: a public address that virtual machines reach locally. */
const AZURE_WIRE_SERVER = '168.63.129.16';

/**
 * Parses an address in its usual form, which may end in four decimal numbers.
 * @throws Error if the text is not an address
 */
export function parseAddress(text: string): IpAddress {
  // ipaddr.js reads ::1.2.3.4 as ::ffff:1.2.3.4, but sockets do not.
  const isMixed = text.includes(':') && text.includes('.');
  return ipaddr.parse(isMixed ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text);
}

/** Converts an IPv4-mapped address to the IPv4 address, which sockets connect to. */
export function withoutMapping(address: IpAddress): IpAddress {
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
  return isMapped ? address.toIPv4Address() : address;
}

/**
 * Whether the address is public unicast. The special ranges are those of IANA's registries, as ipaddr.js
 * lists them: private, shared, loopback, link-local, unique local, multicast, documentation, benchmarking,
 * reserved and so on. An address of NAT64 or 6to4 is public if its embedded IPv4 address is. Teredo is not.
 */
export function isPublicAddress(address: IpAddress): boolean {
  if (address instanceof ipaddr.IPv4) {
    return address.range() === 'unicast' && address.toString() !== AZURE_WIRE_SERVER;
  }
  if (address.zoneId !== undefined) return false;
  const bytes = address.toByteArray();
  if (address.match(NAT64)) return isPublicAddress(new ipaddr.IPv4(bytes.slice(12)));
  if (address.range() === '6to4') return isPublicAddress(new ipaddr.IPv4(bytes.slice(2, 6)));
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST);
}
