// A client written from the specification of the consumer API alone: its four endpoints, its members and its status
// codes. It ignores every other member and every error code.
import { createPublicKey, verify } from 'node:crypto';
import { type RequestOptions, request } from 'node:http';

export type SpecificationClient = {
  /** Binds this machine; undefined if the hub refuses. @throws Error if the license or its key is not genuine */
  activate(licenseKey: string): Promise<License | undefined>;
  /** Releases the seat of this machine. Resolves to whether the hub accepts. */
  release(licenseKey: string): Promise<boolean>;
  /** What the status code of the soft check says; `machine: false` asks about the license only. */
  softCheck(licenseId: string, options?: { readonly machine?: boolean }): Promise<SoftCheckResult>;
};

/** The members that the specification names. */
export type License = {
  readonly licenseId: string;
  /** Undefined: the license has no such limit; infinity: unlimited. */
  limit(name: string): number | undefined;
};

export type SoftCheckResult = 'active' | 'not_a_seat' | 'unknown' | 'revoked';

/** The status codes of section 7. */
const RESULTS: { readonly [status: number]: SoftCheckResult } = {
  200: 'active',
  403: 'not_a_seat',
  404: 'unknown',
  410: 'revoked',
};

const UNLIMITED = -1;

/** `app` is the slug. The public key of the app is fetched at first use, and is the only one that the client trusts. */
export function createSpecificationClient(
  baseUrl: string,
  app: string,
  machineFingerprint: string,
): SpecificationClient {
  let publicKey: Promise<string> | undefined;
  const call = (path: string, body?: object): Promise<Answer> => send(new URL(path, baseUrl), body);
  return {
    async activate(licenseKey) {
      publicKey ??= call(`/v1/apps/${app}/public-key`).then(({ text }) => text);
      const machine = { machineFingerprint, machineLabel: 'A machine', appVersion: '1.0.0' };
      const { status, text } = await call('/v1/activate', { licenseKey, ...machine });
      if (status !== 200) return undefined;
      const { ok, license, publicKeyPem } = JSON.parse(text);
      if (ok !== true || publicKeyPem !== (await publicKey)) throw new Error('the key of another app');
      if (!isGenuine(license, publicKeyPem)) throw new Error('the signature does not match');
      return {
        licenseId: license.licenseId,
        limit: (name) => {
          const value: number | undefined = license.limits?.[name];
          return value === UNLIMITED ? Number.POSITIVE_INFINITY : value;
        },
      };
    },

    async release(licenseKey) {
      return (await call('/v1/deactivate', { licenseKey, machineFingerprint })).status === 200;
    },

    async softCheck(licenseId, { machine = true } = {}) {
      const query = machine ? `?fp=${encodeURIComponent(machineFingerprint)}` : '';
      const { status } = await call(`/v1/status/${encodeURIComponent(licenseId)}${query}`);
      const result = RESULTS[status];
      if (result === undefined) throw new Error(`status ${status}`);
      return result;
    },
  };
}

/** ECDSA with P-256 and SHA-256 over the RFC 8785 form of the license without its signature. */
function isGenuine({ signature, ...signed }: { signature: string }, publicKeyPem: string): boolean {
  const key = { key: createPublicKey(publicKeyPem), dsaEncoding: 'ieee-p1363' } as const;
  return verify('sha256', Buffer.from(canonical(signed)), key, Buffer.from(signature, 'base64url'));
}

/** RFC 8785, for any JSON. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

type Answer = { readonly status: number; readonly text: string };

function send(url: URL, body?: object): Promise<Answer> {
  const options: RequestOptions =
    body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' } };
  return new Promise((resolve, reject) => {
    const asked = request(url, options, async (response) => {
      try {
        const text = Buffer.concat(await response.toArray()).toString();
        resolve({ status: response.statusCode ?? 0, text });
      } catch (error) {
        reject(error);
      }
    });
    asked.on('error', reject);
    asked.end(body && JSON.stringify(body));
  });
}
