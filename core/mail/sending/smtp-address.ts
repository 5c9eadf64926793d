// Parses the address of the mail server, and the address that mails come from. Errors never repeat the value,
// which may contain a password.
import { isIP } from 'node:net';
import { Secret } from '../../secret.ts';

export type SmtpAddress = {
  readonly host: string;
  readonly port: number;
  /**
   * `implicit`: TLS from the start. `starttls`: upgraded before anything else is sent, or not used at all.
   */
  readonly tls: 'implicit' | 'starttls' | 'off';
  readonly login: { readonly user: string; readonly password: Secret<string> } | undefined;
};

export type MailFrom = {
  /** Empty without a name. */
  readonly name: string;
  readonly address: string;
};

const FORM = 'must be an address such as smtp://user:password@mail.example.com:587 or smtps://…:465';
const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

/**
 * Parses `smtp://` (TLS by STARTTLS) or `smtps://` (TLS from the start). `?tls=off` turns STARTTLS off; it is
 * off by default for a server on this machine, and `?tls=required` turns it on.
 *
 * @throws Error that describes a valid value
 */
export function parseSmtpUrl(value: string): SmtpAddress {
  if (!URL.canParse(value)) throw new Error(FORM);
  const { protocol, hostname, port, username, password, pathname, searchParams, hash } = new URL(value);
  if (protocol !== 'smtp:' && protocol !== 'smtps:') throw new Error(FORM);
  // For these schemes URL keeps the brackets of IPv6 and the case of names.
  const host = decode(hostname)
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  if (host === '' || /[\s/]/.test(host)) throw new Error(FORM);
  if (!['', '/'].includes(pathname) || hash !== '') throw new Error('must not have a path or a fragment');
  const user = decode(username);
  const pass = decode(password);
  if ((user === '') !== (pass === '')) throw new Error('must have both a user and a password, or neither');
  const tls = tlsOf(protocol, host, searchParams);
  if (user !== '' && tls === 'off' && !isLoopback(host)) {
    throw new Error('would send the password without encryption: omit tls=off, or user and password');
  }
  return {
    host,
    port: port === '' ? PORTS[protocol] : Number(port),
    tls,
    login: user === '' ? undefined : { user, password: new Secret(pass) },
  };
}

function tlsOf(protocol: 'smtp:' | 'smtps:', host: string, parameters: URLSearchParams): SmtpAddress['tls'] {
  const unknown = [...parameters.keys()].find((name) => name !== 'tls');
  if (unknown !== undefined || parameters.getAll('tls').length > 1)
    throw new Error('must have no query but tls=required or tls=off');
  const tls = parameters.get('tls');
  if (tls !== null && tls !== 'required' && tls !== 'off') throw new Error('tls must be required or off');
  if (protocol === 'smtps:') {
    if (tls === 'off') throw new Error('smtps:// always uses TLS: write smtp:// with tls=off');
    return 'implicit';
  }
  return (tls ?? (isLoopback(host) ? 'off' : 'required')) === 'off' ? 'off' : 'starttls';
}

/** @throws Error for a `%` that begins no escape */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Error('must have % in the user and the password written as %25');
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * Parses `shop@example.com` or `Shop <shop@example.com>`.
 * @throws Error that describes a valid value
 */
export function parseMailFrom(value: string): MailFrom {
  const [, name = '', inBrackets] = /^([^<>]*)<([^<>]*)>$/.exec(value.trim()) ?? [];
  const address = (inBrackets ?? value).trim();
  if (!isMailAddress(address) || /\p{Cc}/u.test(name))
    throw new Error('must be an address such as shop@example.com or "Shop <shop@example.com>"');
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address };
}

/**
 * Whether mail can be sent to an address: without quotes, comments, lists and spaces, which servers read
 * differently.
 */
export function isMailAddress(address: string): boolean {
  return address.length <= 254 && /^[^\s\p{Cc}@<>()[\]\\,;:"]+@[^\s\p{Cc}@<>()[\]\\,;:"]+$/u.test(address);
}
