// By what a hub is recognized over TLS, and which certificate it is shown.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { usageError } from './failure.ts';

/** Paths of PEM files. */
export type Trust = {
  /** Who issued the hub's certificate; the well-known issuers if nothing is said. */
  readonly ca?: string | undefined;
  /** The hub's own certificate, whatever names it is for: that of a hub on this machine. */
  readonly certificate?: string | undefined;
  readonly clientCert?: string | undefined;
  readonly clientKey?: string | undefined;
};

/** Reads the files. @throws CliError (usage) that names the one that cannot be read. */
export function tlsOptions({ ca, certificate, clientCert, clientKey }: Trust): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca: read(ca) }),
    ...(ca === undefined && certificate !== undefined && only(certificate)),
    ...(clientCert !== undefined && { cert: read(clientCert) }),
    ...(clientKey !== undefined && { key: read(clientKey) }),
  };
}

/** Trusts one certificate, and not those it may have issued. */
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
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw usageError(`${path} cannot be read (${code}).`);
  }
}
