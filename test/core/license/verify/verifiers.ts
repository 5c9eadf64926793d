// Verifiers of signed licenses that share no code with the signer: openssl and WebCrypto.
import { execFileSync, spawnSync } from 'node:child_process';
import { createPublicKey, webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import canonicalize from 'canonicalize';

/** Licenses as JSON text in, whether each verifies out. `tools` are the programs it needs. */
export type Verifier = {
  readonly tools: readonly string[];
  verify(licenses: readonly string[], publicKeyPem: string): Promise<boolean[]>;
};

export const openssl: Verifier = {
  tools: ['openssl'],
  async verify(licenses, publicKeyPem) {
    return inTemporaryDirectory((directory) => {
      const [key, data, signature] = ['key.pem', 'data', 'signature'].map((name) => join(directory, name));
      if (!key || !data || !signature) throw new Error('three names were given');
      writeFileSync(key, publicKeyPem);
      return licenses.map((license) => {
        const parts = split(license);
        writeFileSync(data, parts.message);
        writeFileSync(signature, derOf(parts.signature));
        const args = ['dgst', '-sha256', '-verify', key, '-signature', signature, data];
        return spawnSync('openssl', args).status === 0;
      });
    });
  },
};

export const webCrypto: Verifier = {
  tools: [],
  async verify(licenses, publicKeyPem) {
    const spki = createPublicKey(publicKeyPem).export({ type: 'spki', format: 'der' });
    const curve = { name: 'ECDSA', namedCurve: 'P-256' };
    const key = await webcrypto.subtle.importKey('spki', spki, curve, false, ['verify']);
    return Promise.all(
      licenses.map((license) => {
        const { message, signature } = split(license);
        return webcrypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, signature, message);
      }),
    );
  },
};

/** Whether a program is there. */
export function isInstalled(tool: string): boolean {
  try {
    execFileSync(tool, ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function split(license: string): { message: Uint8Array<ArrayBuffer>; signature: Uint8Array<ArrayBuffer> } {
  const { signature, ...unsigned } = JSON.parse(license);
  return {
    message: new TextEncoder().encode(canonicalize(unsigned)),
    signature: Uint8Array.from(Buffer.from(signature, 'base64url')),
  };
}

/** r||s as the DER sequence of two integers that openssl takes (RFC 3279 section 2.2.3). */
function derOf(signature: Uint8Array): Buffer {
  const integers = [signature.subarray(0, 32), signature.subarray(32)].map((half) => {
    const digits = Buffer.from(half.subarray(half.findIndex((byte) => byte !== 0)));
    const positive = (digits[0] ?? 0) < 128 ? digits : Buffer.concat([Buffer.of(0), digits]);
    return Buffer.concat([Buffer.of(2, positive.length), positive]);
  });
  const content = Buffer.concat(integers);
  return Buffer.concat([Buffer.of(0x30, content.length), content]);
}

function inTemporaryDirectory<T>(work: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'hub-verify-'));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
