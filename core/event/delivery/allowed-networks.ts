// Parses the private networks that the operator allows webhooks to reach.
import ipaddr from 'ipaddr.js';
import { listItems, networkFault } from '../../../lib/net/network-syntax.ts';
import { type IpAddress, parseAddress } from './public-address.ts';

/**
 * Parses the setting HUB_EVENT_ALLOW_NETWORKS: addresses and CIDR ranges separated by commas or white space.
 * @throws Error that lists every invalid item
 */
export function parseAllowedNetworks(text: string): string[] {
  const items = listItems(text);
  const wrong = items.flatMap((item) => faultIn(item) ?? []);
  if (wrong.length > 0) throw new Error(`allowed networks: ${wrong.join('; ')}`);
  return items;
}

/**
 * Creates the function that checks whether an address is in one of the networks.
 * @throws Error as `parseAllowedNetworks`
 */
export function createIsAllowed(networks: readonly string[]): (address: IpAddress) => boolean {
  const ranges = networks.flatMap(parseAllowedNetworks).map(rangeOf);
  return (address) => {
    if (address instanceof ipaddr.IPv6 && address.zoneId !== undefined) return false;
    return ranges.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  };
}

function faultIn(item: string): string | undefined {
  const fault = networkFault(item);
  if (fault !== undefined) return fault;
  const [network, bits] = rangeOf(item);
  if (network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress()) {
    return `"${item}" is a range of IPv4-mapped addresses; write it as IPv4, such as 10.0.0.0/8`;
  }
  const text = `${network}/${bits}`;
  const start = network.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  const first = start.networkAddressFromCIDR(text);
  // The operator may mean a longer prefix: 10.1.2.3/8 allows all of 10.0.0.0/8.
  if (first.toString() !== network.toString()) return `"${item}" is not a network; write ${first}/${bits}`;
  return undefined;
}

function rangeOf(item: string): [IpAddress, number] {
  const [text = '', prefix] = item.split('/');
  const address = parseAddress(text);
  return [address, Number(prefix ?? (address.kind() === 'ipv4' ? 32 : 128))];
}
