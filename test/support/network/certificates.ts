// Certificates for tests, created with openssl: an issuer, and its certificates.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Paths of PEM files. */
export type Pair = { readonly cert: string; readonly key: string };

export type Issuer = {
  readonly ca: string;
  /** A certificate for 127.0.0.1 and localhost, or for other names. It is valid for servers and clients. */
  issue(subject: string, days?: number, names?: string): Promise<Pair>;
};

export type Certificates = {
  readonly dir: string;
  createIssuer(name: string): Promise<Issuer>;
  remove(): Promise<void>;
};

export async function makeCertificates(): Promise<Certificates> {
  const dir = await mkdtemp(join(tmpdir(), 'hub-certificates-'));
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  let made = 0;
  return {
    dir,
    async createIssuer(name) {
      const [ca, caKey] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)];
      const own = ['-x509', ...newKey, '-subj', `/CN=${name}`, '-days', '2', '-keyout', caKey, '-out', ca];
      await run('openssl', ['req', ...own]);
      return {
        ca,
        async issue(subject, days = 2, names = 'IP:127.0.0.1,DNS:localhost') {
          const base = join(dir, `${name}-${++made}`);
          const [cert, key] = [`${base}.crt`, `${base}.key`];
          await run('openssl', [
            ...['req', '-x509', ...newKey, '-utf8', '-subj', subject, '-days', String(days)],
            ...['-addext', `subjectAltName=${names}`, '-addext', 'basicConstraints=critical,CA:FALSE'],
            ...['-CA', ca, '-CAkey', caKey, '-keyout', key, '-out', cert],
          ]);
          return { cert, key };
        },
      };
    },
    remove: () => rm(dir, { recursive: true }),
  };
}

/** The subject in openssl's RFC 4514 format. */
export async function subjectOf({ cert }: Pair): Promise<string> {
  const options = ['-noout', '-subject', '-nameopt', 'RFC2253,-esc_msb'];
  const { stdout } = await run('openssl', ['x509', '-in', cert, ...options]);
  return stdout.replace(/^subject=|\n$/g, '');
}

/** Replaces a pair with another. It writes the key first, so the two files do not match for a moment. */
export async function replacePair(place: Pair, by: Pair): Promise<void> {
  await writeFile(place.key, await readFile(by.key));
  await writeFile(place.cert, await readFile(by.cert));
}
