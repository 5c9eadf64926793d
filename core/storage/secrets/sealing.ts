// Sealing: authenticated encryption of the secrets in the database.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { MasterKey } from './key-ring-file.ts';

/**
 * `about` names the secret (`signing_key:<uuid>`) and is authenticated, so that a sealed value cannot be
 * moved to another row. It must be the same for `seal` and `open`.
 *
 * A sealed value is: format (1 byte, 1) | master key id (8) | nonce (12) | tag (16) | ciphertext, by
 * AES-256-GCM (NIST SP 800-38D) with the first nine bytes and then `about` in UTF-8 as associated data.
 */
export type Sealer = {
  /** Seals with the first key of the ring. */
  seal(plaintext: Uint8Array, about: string): Buffer;
  /**
   * Opens with the key of the ring that sealed it. @throws Error if the key is missing or the value was
   * changed
   */
  open(sealed: Uint8Array, about: string): Buffer;
  /** Id of the master key that sealed it, 16 hex digits. */
  keyIdOf(sealed: Uint8Array): string;
};

const FORMAT = 1;
const HEADER_END = 9;
const NONCE_END = 21;
const TAG_END = 37;

export function createSealer(keys: readonly MasterKey[]): Sealer {
  const [sealing] = keys;
  if (!sealing) throw new Error('sealing needs at least one master key');
  const ring = new Map(keys.map((key) => [key.id, key.secret]));
  const header = Buffer.concat([Buffer.of(FORMAT), Buffer.from(sealing.id, 'hex')]);

  return {
    seal(plaintext, about) {
      const nonce = randomBytes(NONCE_END - HEADER_END);
      const cipher = createCipheriv('aes-256-gcm', sealing.secret, nonce);
      cipher.setAAD(associatedData(header, about));
      const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
      return Buffer.concat([header, nonce, cipher.getAuthTag(), ciphertext]);
    },

    open(sealed, about) {
      const id = keyIdOf(sealed);
      const secret = ring.get(id);
      if (!secret) {
        const known = [...ring.keys()].join(', ');
        throw new Error(
          `${about} is encrypted with master key ${id}; the key ring holds ${known}. Add the missing key`,
        );
      }
      const nonce = sealed.subarray(HEADER_END, NONCE_END);
      const decipher = createDecipheriv('aes-256-gcm', secret, nonce, { authTagLength: TAG_END - NONCE_END });
      decipher.setAAD(associatedData(sealed.subarray(0, HEADER_END), about));
      decipher.setAuthTag(sealed.subarray(NONCE_END, TAG_END));
      const plaintext = decipher.update(sealed.subarray(TAG_END));
      try {
        return Buffer.concat([plaintext, decipher.final()]);
      } catch (error) {
        throw new Error(`${about} cannot be opened: it was altered, or sealed for another purpose`, {
          cause: error,
        });
      }
    },

    keyIdOf,
  };
}

function keyIdOf(sealed: Uint8Array): string {
  if (sealed.length < TAG_END || sealed[0] !== FORMAT) {
    throw new Error('not a sealed value: it is too short or of an unknown format');
  }
  return Buffer.from(sealed.subarray(1, HEADER_END)).toString('hex');
}

function associatedData(header: Uint8Array, about: string): Buffer {
  return Buffer.concat([header, Buffer.from(about)]);
}
