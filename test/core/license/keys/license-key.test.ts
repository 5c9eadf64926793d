// License keys: their format, tolerated spellings and detected typing errors.
import { createSecretKey, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { newUuid } from '../../../../core/ids.ts';
import {
  deriveLicenseKey,
  formatLicenseKey,
  hashLicenseKey,
  licenseKeyHint,
  normalizeLicenseKey,
} from '../../../../core/license/keys/license-key.ts';
import { randomLicenseKey } from '../../../support/license-key.ts';

const ALPHABET = [...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'];

/** The bare symbols of the key whose first 24 symbols have these values. */
function keyOf(values: readonly number[]): string[] {
  return [...formatLicenseKey(Uint8Array.from(values)).replaceAll('-', '')];
}

const VALUES = Array.from({ length: 24 }, (_, place) => (place * 7 + 3) % 32);

describe('license key', () => {
  it('is five groups of five upper-case Crockford base32 symbols', () => {
    expect(randomLicenseKey()).to.match(/^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}$/);
  });

  it('uses five bits of each of the first 24 bytes', () => {
    const key = formatLicenseKey(Uint8Array.from({ length: 32 }, (_, place) => place + 224));
    expect(key.slice(0, 28)).to.equal('01234-56789-ABCDE-FGHJK-MNPQ');
  });

  it('is different for each license and each generation', () => {
    const secret = createSecretKey(randomBytes(32));
    const keys = Array.from({ length: 500 }, () => newUuid()).flatMap((id) => [
      deriveLicenseKey(secret, id, 1),
      deriveLicenseKey(secret, id, 2),
    ]);
    expect(new Set(keys)).to.have.property('size', 1000);
  });

  it('uses every symbol at every position but the last', () => {
    const seen = Array.from({ length: 24 }, () => new Set<string>());
    for (let made = 0; made < 2000; made++) {
      const symbols = randomLicenseKey().replaceAll('-', '');
      for (const [place, symbolsSeen] of seen.entries()) symbolsSeen.add(symbols.charAt(place));
    }
    expect(seen.map(({ size }) => size)).to.deep.equal(seen.map(() => 32));
  });

  it('can be parsed from its printed form', () => {
    const key = randomLicenseKey();
    expect(normalizeLicenseKey(key)).to.equal(key.replaceAll('-', ''));
  });

  it('can be parsed with any case, spaces and dashes', () => {
    const symbols = keyOf(VALUES).join('');
    const groups = symbols.match(/.{5}/g) ?? [];
    expect(normalizeLicenseKey(`  ${groups.join(' ').toLowerCase()}\r\n`)).to.equal(symbols);
    expect(normalizeLicenseKey(groups.join('\u2011'))).to.equal(symbols);
    expect(normalizeLicenseKey(groups.join('\u00a0\u2013 '))).to.equal(symbols);
  });

  it('can be parsed with O as 0 and I and L as 1', () => {
    const symbols = keyOf([0, 1, 1, ...VALUES.slice(3)]).join('');
    for (const typed of ['OIL', 'oil', 'oli', 'OlI']) {
      expect(normalizeLicenseKey(typed + symbols.slice(3)), typed).to.equal(symbols);
    }
  });

  it('detects every single wrong symbol', () => {
    const symbols = keyOf(VALUES);
    const missed = symbols.flatMap((right, place) =>
      ALPHABET.filter((wrong) => wrong !== right)
        .map((wrong) => symbols.with(place, wrong).join(''))
        .filter((typed) => normalizeLicenseKey(typed) !== undefined),
    );
    expect(missed).to.deep.equal([]);
  });

  it('detects every swap of two adjacent symbols', () => {
    const missed: string[] = [];
    for (let place = 0; place < 24; place++) {
      for (let pair = 0; pair < 32 * 32; pair++) {
        // The check symbol cannot be chosen; two others before it produce every pair with it.
        const symbols = keyOf(
          VALUES.with(Math.min(place, 22), pair >> 5).with(Math.min(place + 1, 23), pair & 31),
        );
        const [left = '', right = ''] = symbols.slice(place, place + 2);
        const typed = symbols
          .with(place, right)
          .with(place + 1, left)
          .join('');
        if (left !== right && normalizeLicenseKey(typed) !== undefined) missed.push(typed);
      }
    }
    expect(missed).to.deep.equal([]);
  });

  it('is refused with another length', () => {
    const symbols = keyOf(VALUES).join('');
    for (const typed of ['', symbols.slice(1), `${symbols}0`, `0${symbols}`]) {
      expect(normalizeLicenseKey(typed), typed).to.equal(undefined);
    }
  });

  it('is refused with characters outside the alphabet', () => {
    const rest = keyOf([1, ...VALUES.slice(1)])
      .join('')
      .slice(1);
    expect(normalizeLicenseKey(`1${rest}`), 'the key itself').to.be.a('string');
    // A dotless i upper-cases to I, a fullwidth 1 looks like 1; U is not in the alphabet.
    for (const typed of ['\u0131', '\uff11', 'U', '_', '\0']) {
      expect(normalizeLicenseKey(typed + rest), JSON.stringify(typed)).to.equal(undefined);
    }
  });

  it('is stored as the SHA-256 of its bare symbols', () => {
    // printf 0123456789ABCDEFGHJKMNPQRS | sha256sum
    expect(hashLicenseKey('0123456789ABCDEFGHJKMNPQRS').toString('hex')).to.equal(
      'f5f69e3261dbfad2110670e539999eab56d4b1f0ce2e613dca4fd2e1f70faf44',
    );
  });

  it('has its last five symbols as a hint', () => {
    expect(licenseKeyHint('0123456789ABCDEFGHJKMNPQR')).to.equal('MNPQR');
  });
});
