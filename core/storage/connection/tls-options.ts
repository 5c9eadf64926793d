// The TLS options of a connection to PostgreSQL: which certificates are trusted, and what is verified.
//
// https://www.postgresql.org/docs/current/libpq-ssl.html
import { access, readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, checkServerIdentity, getCACertificates, type SecureVersion } from 'node:tls';
import type { ConnectionTarget } from './connection-string.ts';

/**
 * Reads the files for each connection, so that renewed certificates are used.
 * @throws Error that names the parameter and the file
 */
export async function tlsOptions(target: ConnectionTarget, host: string): Promise<ConnectionOptions> {
  const { parameters, sslMode } = target;
  const roots = await readRoots(target);
  const revoked = await readOptional('sslcrl', parameters.sslcrl, 'root.crl');
  const verifies = roots !== undefined;
  return {
    ...(roots && { ca: roots }),
    ...(verifies && revoked && { crl: revoked }),
    rejectUnauthorized: verifies,
    checkServerIdentity: (_, certificate) =>
      sslMode === 'verify-full' ? checkName(host, certificate) : undefined,
    ...(isIP(host) === 0 && parameters.sslsni !== '0' && { servername: host }),
    minVersion: (parameters.ssl_min_protocol_version ?? 'TLSv1.2') as SecureVersion, // checked
    ...(parameters.ssl_max_protocol_version && {
      maxVersion: parameters.ssl_max_protocol_version as SecureVersion, // checked
    }),
    // A server requires it for direct TLS.
    ...(parameters.sslnegotiation === 'direct' && { ALPNProtocols: ['postgresql'] }),
    ...(await readOwnCertificate(target)),
  };
}

/**
 * Undefined: the certificate is not verified. As in libpq, every mode verifies it with a root certificate.
 */
async function readRoots({ parameters, sslMode }: ConnectionTarget): Promise<string | string[] | undefined> {
  if (parameters.sslrootcert === 'system') {
    const system = getCACertificates('system');
    return system.length > 0 ? system : getCACertificates('bundled');
  }
  const roots = await readOptional('sslrootcert', parameters.sslrootcert, 'root.crt');
  if (roots !== undefined || !sslMode.startsWith('verify-')) return roots;
  throw new Error(
    `sslmode=${sslMode} needs a root certificate: add sslrootcert=<file of the CA> to DATABASE_URL, ` +
      'or sslmode=verify-full with sslrootcert=system for a CA that the machine trusts',
  );
}

/** A file that is named must exist; libpq's default file need not. */
async function readOptional(
  parameter: string,
  named: string | undefined,
  fallback: string,
): Promise<string | undefined> {
  const path = named || inHome(fallback);
  return await readFile(path, 'utf8').catch((error) => {
    if (!named && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw unreadable(parameter, path, error);
  });
}

async function readOwnCertificate({ parameters }: ConnectionTarget): Promise<ConnectionOptions> {
  const cert = await readOptional('sslcert', parameters.sslcert, 'postgresql.crt');
  if (cert === undefined) return {};
  const path = parameters.sslkey || inHome('postgresql.key');
  await access(path).catch((error) => {
    throw unreadable('sslkey', path, error);
  });
  const { mode, uid } = await stat(path);
  if ((mode & (uid === 0 ? 0o137 : 0o177)) !== 0)
    throw new Error(`others may use the file of sslkey, ${path}: chmod 600 ${path}`);
  const key = await readFile(path, 'utf8');
  return { cert, key, ...(parameters.sslpassword && { passphrase: parameters.sslpassword }) };
}

function inHome(name: string): string {
  return join(homedir(), '.postgresql', name);
}

function unreadable(parameter: string, path: string, error: NodeJS.ErrnoException): Error {
  return new Error(`the file of ${parameter}, ${path}, cannot be read (${error.code}): correct DATABASE_URL`);
}

/**
 * Node.js compares IP addresses with alternative names only; libpq takes the common name where there is none.
 */
function checkName(host: string, certificate: Parameters<typeof checkServerIdentity>[1]): Error | undefined {
  const commonName = certificate.subjectaltname === undefined && certificate.subject.CN;
  if (isIP(host) !== 0 && commonName === host) return undefined;
  return checkServerIdentity(host, certificate);
}
