// Sealing: what opens, what does not, and what errors reveal.

import { createSecretKey } from 'node:crypto';
import { expect } from 'chai';
import { type MasterKey, readMasterKeys } from '../../../../core/storage/secrets/key-ring-file.ts';
import { createSealer } from '../../../../core/storage/secrets/sealing.ts';

const ABOUT = 'signing_key:0198c0de-0000-7000-8000-000000000001';
const SECRET = Buffer.from('a secret of the hub');

function keyOf(byte: number): MasterKey {
  const [key] = readMasterKeys(Buffer.alloc(32, byte).toString('hex'));
  if (!key) throw new Error('one key was given');
  return key;
}

describe('a sealed value', () => {
  const [older, newer] = [keyOf(1), keyOf(2)];
  const sealer = createSealer([newer, older]);

  it('opens to the plaintext', () => {
    for (const plaintext of [SECRET, Buffer.alloc(0), Buffer.alloc(100_000, 7)]) {
      expect(sealer.open(sealer.seal(plaintext, ABOUT), ABOUT).equals(plaintext)).to.equal(true);
    }
  });

  it('consists of the format, the key id, a nonce, a tag and the ciphertext', () => {
    const sealed = sealer.seal(SECRET, ABOUT);
    expect(sealed).to.have.length(1 + 8 + 12 + 16 + SECRET.length);
    expect(sealed[0]).to.equal(1);
    expect(sealed.toString('hex', 1, 9)).to.equal(newer.id);
    expect(sealed.includes(SECRET)).to.equal(false);
  });

  it('is different each time', () => {
    const nonces = Array.from({ length: 1000 }, () => sealer.seal(SECRET, ABOUT).toString('hex', 9, 21));
    expect(new Set(nonces)).to.have.property('size', 1000);
  });

  it('is sealed with the first key of the ring and opened with any', () => {
    const sealedBefore = createSealer([older]).seal(SECRET, ABOUT);
    expect(sealer.keyIdOf(sealedBefore)).to.equal(older.id);
    expect(sealer.open(sealedBefore, ABOUT).equals(SECRET)).to.equal(true);
    expect(sealer.keyIdOf(sealer.seal(SECRET, ABOUT))).to.equal(newer.id);
  });

  it('does not open for another purpose', () => {
    const sealed = sealer.seal(SECRET, ABOUT);
    expect(() => sealer.open(sealed, 'signing_key:another')).to.throw('signing_key:another cannot be opened');
  });

  it('does not open if any bit is flipped', () => {
    const sealed = sealer.seal(SECRET, ABOUT);
    const opened = Array.from({ length: sealed.length * 8 }, (_, bit) => bit).filter((bit) => {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      return opens(changed);
    });
    expect(opened).to.deep.equal([]);
  });

  it('does not open if it is truncated or extended', () => {
    const sealed = sealer.seal(SECRET, ABOUT);
    const lengths = Array.from(sealed, (_, length) => length).filter((length) =>
      opens(sealed.subarray(0, length)),
    );
    expect(lengths).to.deep.equal([]);
    expect(opens(Buffer.concat([sealed, Buffer.alloc(1)]))).to.equal(false);
  });

  it('does not open with another key that has the same id', () => {
    const impostor = { id: newer.id, secret: createSecretKey(Buffer.alloc(32, 9)) };
    expect(() => createSealer([impostor]).open(sealer.seal(SECRET, ABOUT), ABOUT)).to.throw(
      'cannot be opened',
    );
  });

  it('names the key that the ring lacks', () => {
    expect(() => createSealer([older]).open(sealer.seal(SECRET, ABOUT), ABOUT)).to.throw(
      `${ABOUT} is encrypted with master key ${newer.id}; the key ring holds ${older.id}`,
    );
  });

  it('requires a key', () => {
    expect(() => createSealer([])).to.throw('at least one master key');
  });

  function opens(sealed: Uint8Array): boolean {
    try {
      sealer.open(sealed, ABOUT);
      return true;
    } catch {
      return false;
    }
  }
});
