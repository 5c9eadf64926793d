// Holds the committed vectors to what they claim, with signers and verifiers that did not make them.
import { spawnSync } from 'node:child_process';
import { verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { p256 } from '@noble/curves/nist.js';
import { expect } from 'chai';
import { type LicenseContent, signLicense } from '../../core/license/keys/signing.ts';
import { FULL, OTHER_KEY, OUR_KEY } from './case.ts';
import { canonicalOf, VECTORS_FILE, type Vector, vectorsText } from './vectors.ts';

const committed = readFileSync(VECTORS_FILE, 'utf8');
const vectors: readonly Vector[] = JSON.parse(committed);
const good = vectors.filter(({ expected }) => expected === 'ok');

/** Refused although they are signed, and although some readers take them. */
const TRAPS =
  /^(app|machine|expired|lease|clock|algorithm|kid|signature-(padding|alphabet|stray|space)|malformed-(twice-[lse]|null|boolean|array|name|surrogate|utf8|time|number-(exponent$|fraction|minus|2)))/;

describe('the license vectors', () => {
  it('are what the generator makes, byte by byte', () => {
    expect(committed === vectorsText(), 'npm run gen:vectors makes another file').to.equal(true);
  });

  it('have a name each, and every verdict among them', () => {
    expect(new Set(vectors.map(({ name }) => name)).size).to.equal(vectors.length);
    expect(new Set(vectors.map(({ expected }) => expected)).size).to.equal(10);
  });

  it('are signed over the canonical text they show, by node:crypto and by openssl', () => {
    expect(good.length).to.be.greaterThan(30);
    const found = good.map((vector) => [vector.name, byNode(vector), byOpenssl(vector)]);
    expect(found).to.deep.equal(good.map(({ name }) => [name, true, true]));
  });

  it('show the canonical text that the hub signs', async () => {
    const known = good.filter(({ license }) => Object.keys(contentOf(license)).every((name) => name in FULL));
    expect(known.length).to.be.at.least(30);
    for (const vector of known) {
      const { alg: _, ...content } = contentOf(vector.license);
      const { signature } = await signLicense(content as LicenseContent, OUR_KEY.privateKey);
      expect(byNode(vector, signature), vector.name).to.equal(true);
    }
  });

  it('are refused for one reason alone: a reader that is lenient, or asks less, takes them', () => {
    const traps = vectors.filter(({ name }) => TRAPS.test(name));
    expect(traps.length).to.be.greaterThan(60);
    const missed = traps.filter((vector) => vector.expected === 'ok' || !isTakenByLenient(vector));
    expect(missed.map(({ name }) => name)).to.deep.equal([]);
  });
});

function contentOf(text = ''): Record<string, unknown> & { signature?: unknown } {
  const { signature: _, ...content } = licenseOf(text);
  return content;
}

// biome-ignore lint/suspicious/noExplicitAny: what a reader makes of any text
function licenseOf(text: string): any {
  const content = JSON.parse(text);
  return content.license ?? content;
}

function byNode({ canonical = '', license = '', publicKeyPem }: Vector, signature?: string): boolean {
  const bytes = Buffer.from(signature ?? licenseOf(license).signature, 'base64url');
  return verify('sha256', Buffer.from(canonical), { key: publicKeyPem, dsaEncoding: 'ieee-p1363' }, bytes);
}

function byOpenssl({ canonical = '', license = '', publicKeyPem }: Vector): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'hub-vectors-'));
  try {
    const [key, signature] = [join(directory, 'key.pem'), join(directory, 'signature')];
    const bytes = Buffer.from(licenseOf(license).signature, 'base64url');
    writeFileSync(key, publicKeyPem);
    writeFileSync(signature, p256.Signature.fromBytes(bytes).toBytes('der'));
    const args = ['dgst', '-sha256', '-verify', key, '-signature', signature];
    return spawnSync('openssl', args, { input: canonical }).status === 0;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Whether somebody takes it who reads what can be read, and asks for nothing but a signature of either key. */
function isTakenByLenient({ license, licenseBase64 = '', ...vector }: Vector): boolean {
  try {
    const text = license ?? Buffer.from(licenseBase64, 'base64').toString();
    const read = JSON.stringify(JSON.parse(text, (_, value) => value?.toWellFormed?.() ?? value));
    return [OUR_KEY, OTHER_KEY].some(({ publicKeyPem }) =>
      byNode({ ...vector, license: read, canonical: canonicalOf(read), publicKeyPem }),
    );
  } catch {
    return false;
  }
}
