// Master keys: reads and writes the key ring file.
import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readSecretFile } from '../../../lib/files/secret-file.ts';

/** A 256-bit key. `id` is public: 16 hex digits, in the header of every sealed value. */
export type MasterKey = { readonly id: string; readonly secret: KeyObject };

const KEY_BYTES = 32;

/**
 * Reads a key ring: one 32-byte key per line in base64 or hex; the first seals, all of them open. Blank lines
 * and lines that start with # are skipped. Errors name the source and the line, and never show a key.
 */
export function readMasterKeys(text: string, source = 'master keys'): MasterKey[] {
  const ring = new Map<string, { key: MasterKey; line: number }>();
  for (const [index, untrimmed] of text.split('\n').entries()) {
    const line = index + 1;
    const written = untrimmed.trim();
    if (written === '' || written.startsWith('#')) continue;
    const bytes = decode(written);
    if (!bytes) {
      throw new Error(
        `${source}, line ${line}: not a key. Write 32 bytes in base64 (44 characters) or hex (64)`,
      );
    }
    const key = masterKey(bytes);
    const duplicate = ring.get(key.id);
    if (duplicate)
      throw new Error(`${source}, line ${line}: the same key as line ${duplicate.line}. Remove one of them`);
    ring.set(key.id, { key, line });
  }
  if (ring.size === 0)
    throw new Error(`${source}: there is no key. Create one with: openssl rand -base64 32`);
  return Array.from(ring.values(), ({ key }) => key);
}

/** Reads a key ring from a file that only its owner can read. */
export function loadMasterKeyFile(path: string): MasterKey[] {
  return readMasterKeys(readSecretFile(path, 'master key file'), `master key file ${path}`);
}

/** Formats a key ring for `readMasterKeys`. The result is secret. */
export function formatKeyRing(keys: readonly MasterKey[]): string {
  const about =
    'Master keys of the hub, one per line: the first encrypts, all decrypt. Without them no secret ' +
    'can be read.';
  return [`# ${about}`, ...keys.map(({ secret }) => secret.export().toString('base64')), ''].join('\n');
}

export function newKeyRing(): MasterKey[] {
  return [masterKey(randomBytes(KEY_BYTES))];
}

/** Writes a key ring file, readable by its owner only. Fails with EEXIST if there is a file already. */
export async function createMasterKeyFile(path: string, keys = newKeyRing()): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.writeFile(formatKeyRing(keys));
  await file.sync();
  // Makes the name durable as well as the content.
  await using directory = await open(dirname(path), 'r');
  await directory.sync();
}

function masterKey(bytes: Buffer): MasterKey {
  const digest = createHash('sha256').update('hub master key id\0').update(bytes).digest();
  return { id: digest.toString('hex', 0, 8), secret: createSecretKey(bytes) };
}

function decode(written: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(written)) return Buffer.from(written, 'hex');
  const bytes = Buffer.from(written, 'base64');
  // The decoder skips invalid characters, so the canonical form must match.
  return bytes.length === KEY_BYTES && bytes.toString('base64') === written ? bytes : undefined;
}
