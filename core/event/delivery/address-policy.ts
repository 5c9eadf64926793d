// Decides which addresses webhooks may reach: the public Internet, and networks that the operator allows.
//
// Each new connection resolves the name, checks the addresses and connects to one of them. A later change of
// the name has no effect on that connection.
import type { LookupAddress } from 'node:dns';
import type { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { createIsAllowed } from './allowed-networks.ts';
import { isPublicAddress, parseAddress, withoutMapping } from './public-address.ts';
import { createResolveName, type ResolveName } from './resolve-name.ts';

export type Scheme = 'https:' | 'http:';

export type AddressPolicy = ReturnType<typeof createAddressPolicy>;

/** The policy refuses the address. The message contains the host, but not its addresses. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

const MAX_URL_LENGTH = 2048;
const MAX_NAME_LENGTH = 253;
const SETTING = 'HUB_EVENT_ALLOW_NETWORKS';
const LOCALHOST = /^(.+\.)?localhost$/i;

/**
 * @param allowed CIDR networks from the setting HUB_EVENT_ALLOW_NETWORKS, such as `10.1.0.0/16`
 * @param options.resolver default: the resolver of the machine
 * @throws Error that names an invalid network
 */
export function createAddressPolicy(
  allowed: readonly string[],
  { resolver }: { readonly resolver?: Resolver } = {},
) {
  const isAllowed = createIsAllowed(allowed);
  const resolveName = createResolveName(resolver);

  /** Why an IP address is refused, such as `is not a public address`; undefined if it is allowed. */
  const checkAddress = (text: string, scheme: Scheme): string | undefined => {
    const address = withoutMapping(parseAddress(text));
    if (isAllowed(address)) return undefined;
    if (!isPublicAddress(address)) return `is not a public address; ${SETTING} can allow its network`;
    if (scheme === 'http:') return `needs https://; ${SETTING} can allow http:// to its network`;
    return undefined;
  };
  const choose = (name: string, addresses: readonly string[], scheme: Scheme): readonly string[] => {
    const allowed = addresses.filter((each) => isAllowed(withoutMapping(parseAddress(each))));
    // It is often 127.0.0.1 and ::1, and operators allow one of them.
    if (LOCALHOST.test(name) && allowed.length > 0) return allowed;
    const problem = addresses.map((each) => checkAddress(each, scheme)).find((each) => each !== undefined);
    if (problem !== undefined) throw new AddressRefused(`${name} has an address that ${problem}`);
    return addresses;
  };

  return {
    checkAddress,
    /** The `lookup` functions for connections. They fail with AddressRefused if an address is refused. */
    lookups: {
      'https:': createLookup(resolveName, (name, addresses) => choose(name, addresses, 'https:')),
      'http:': createLookup(resolveName, (name, addresses) => choose(name, addresses, 'http:')),
    },
    /**
     * Why the URL of an endpoint is refused, such as `must not contain a fragment`; undefined if it is
     * allowed. Does not resolve the name.
     */
    checkUrl(url: string): string | undefined {
      const parsed = URL.parse(url);
      if (parsed === null || /[\s\p{Cc}]/u.test(url)) return 'must be a URL such as https://example.com/hook';
      const { protocol } = parsed;
      if (protocol !== 'https:' && protocol !== 'http:') return 'must begin with https://';
      const fault = faultInParts(url, parsed);
      if (fault !== undefined) return fault;
      const host = parsed.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0) {
        const problem = checkAddress(host, protocol);
        return problem && `must not have the host ${host}, which ${problem}`;
      }
      if (protocol === 'http:' && allowed.length === 0) {
        return `must begin with https://, because ${SETTING} allows no network`;
      }
      return undefined;
    },
  };
}

function faultInParts(url: string, { username, password, port, hostname }: URL): string | undefined {
  if (url.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  if (username !== '' || password !== '') return 'must not contain credentials';
  if (url.includes('#')) return 'must not contain a fragment';
  if (port === '0') return 'must have a port from 1 to 65535';
  if (hostname.length > MAX_NAME_LENGTH) return `must have a host of at most ${MAX_NAME_LENGTH} characters`;
  if (hostname.endsWith('.')) return 'must have a host without a dot at its end';
  return undefined;
}

function createLookup(
  resolveName: ResolveName,
  choose: (name: string, addresses: readonly string[]) => readonly string[],
): LookupFunction {
  return (name, options, callback) => {
    const find = async (): Promise<LookupAddress[]> => {
      const addresses = choose(name, await resolveName(name));
      const family = Number(String(options.family ?? 0).replace('IPv', ''));
      const found = addresses.map((address) => ({ address, family: isIP(address) }));
      const wanted = found.filter((each) => family === 0 || each.family === family);
      if (wanted.length > 0) return wanted;
      throw Object.assign(new Error(`${name} has no address of IPv${family}`), { code: 'ENOTFOUND' });
    };
    const answer = (found: LookupAddress[]): void => {
      if (options.all) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    };
    find().then(answer, (error) => callback(error, []));
  };
}
