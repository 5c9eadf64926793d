// Checks the syntax of IP networks in settings.
import { isIP, isIPv4 } from 'node:net';

/** What is wrong with an address or CIDR range such as `10.0.0.0/8`, or undefined. IPv6 zones are wrong. */
export function networkFault(item: string): string | undefined {
  const [address = '', prefix, ...more] = item.split('/');
  const bits = isIPv4(address) ? 32 : 128;
  if (isIP(address) === 0 || address.includes('%') || more.length > 0) {
    return `"${item}" is neither an IP address nor a CIDR range such as 10.0.0.0/8 or fd00::/8`;
  }
  if (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)) {
    return `"${item}" needs a prefix length from 0 to ${bits} after the slash`;
  }
  return undefined;
}

/** The items of a list that are separated by commas or white space. */
export function listItems(text: string): string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '');
}
