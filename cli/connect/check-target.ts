// Checks what names a hub on the command line: its address, the token and the TLS options.
import { usageError } from '../errors/failure.ts';
import type { Trust } from './trust.ts';

export const DEFAULT_SERVER = 'http://127.0.0.1:5100';

/** A setting, and the option or variable that set it. */
export type Given = { readonly value: string; readonly from: string };

/** @throws CliError (usage) if it is not an address like http://127.0.0.1:5100 */
export function baseUrl({ value, from }: Given): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const clean = url !== undefined && url.username + url.password + url.search + url.hash === '';
  if (!clean || !/^https?:$/.test(url.protocol)) {
    throw usageError(`The server in ${from} is not an address like ${DEFAULT_SERVER}.`);
  }
  return url.href.replace(/\/+$/, '');
}

/** One line of printable ASCII, as a header requires. The message never contains the token. */
export function checkToken({ value, from }: Given): Given {
  const token = value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw usageError(`The token in ${from} is invalid: give one line without spaces.`);
  }
  return { value: token, from };
}

/** The TLS options must be complete and must apply. */
export function checkTrust(server: string, trust: Trust): { trust?: Trust } {
  const { ca, clientCert, clientKey } = trust;
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usageError('Give --client-cert and --client-key together: the certificate and its key.');
  }
  if (server.startsWith('https:')) return { trust };
  const idle = [ca !== undefined && '--ca', clientCert !== undefined && '--client-cert'].find(Boolean);
  if (idle) throw usageError(`${idle} needs an https address, but the server is ${server}.`);
  return {};
}
