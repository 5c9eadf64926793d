// The TLS options of a connection to a hub: trusted certificates and the client certificate.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { codeOf } from '../../lib/caught-error.ts';
import { usageError } from '../errors/failure.ts';

/** Paths of PEM files. */
export type Trust = {
  /** The issuer of the hub's certificate; the well-known issuers if undefined. */
  readonly ca?: string | undefined;
  /** The hub's own certificate, for any name: that of a hub on this machine. */
  readonly certificate?: string | undefined;
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
};

/** Reads the files. @throws CliError (usage) that names an unreadable file */
export function tlsOptions({ ca, certificate, clientCert, clientKey }: Trust): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca: read(ca) }),
    ...(ca === undefined && certificate !== undefined && only(certificate)),
    ...(clientCert !== undefined && { cert: read(clientCert) }),
    ...(clientKey !== undefined && { key: read(clientKey) }),
  };
}

/** Trusts one certificate, but not certificates that it issued. */
function only(path: string): ConnectionOptions {
  const own = new X509Certificate(read(path)); // the first of the file
  return {
    ca: own.toString(),
    allowPartialTrustChain: true,
    checkServerIdentity: (_, shown) =>
      shown.fingerprint256 === own.fingerprint256
        ? undefined
        : new Error(`the hub's certificate is not the one in ${path}`),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw usageError(`${path} cannot be read (${codeOf(error)}).`);
  }
}
