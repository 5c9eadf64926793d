// Each sample under docs/verify, over all vectors and as a program.
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { APP, FINGERPRINT, FULL, OUR_KEY, PLAIN, signed, textOf } from './case.ts';
import { copyOf, type Outcome, run, SAMPLES } from './samples.ts';
import { CASES, VECTORS_FILE, vectorsText } from './vectors.ts';

for (const sample of SAMPLES) {
  const isThere = (await run(sample.needs, tmpdir())).code === 0;

  describe(`the sample in ${sample.folder}${isThere ? '' : ` (not run: ${sample.install})`}`, () => {
    const test = isThere ? it : it.skip;
    let copy: Awaited<ReturnType<typeof copyOf>>;

    before(async () => {
      if (!isThere) return;
      copy = await copyOf(sample);
      for (const command of sample.build) expectCode(0, await run(command, copy.path));
      await write('license.json', textOf(PLAIN));
      await write('ending.json', textOf({ ...PLAIN, expiresAt: '9999-12-31T23:59:59.999Z' }));
      await write('answer.json', JSON.stringify({ ok: true, license: signed(PLAIN), publicKeyPem: '' }));
      await write('forged.json', JSON.stringify({ ...signed(FULL), customer: 'Eve' }));
      await write('key.pem', OUR_KEY.publicKeyPem);
      const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
      await write('p384.pem', publicKey.export({ type: 'spki', format: 'pem' }).toString());
    });

    after(async () => copy?.[Symbol.asyncDispose]());

    test('says of every vector what it has to', async () => {
      const outcome = await run(sample.test, copy.path, { VECTORS: fileURLToPath(VECTORS_FILE) });
      expectCode(0, outcome);
      expect(outcome.stdout).to.match(new RegExp(`\\b${CASES.length} vectors`));
    });

    test('fails if it does not', async () => {
      await write('other.json', vectorsText().replace('"expected": "expired"', '"expected": "lease_over"'));
      const outcome = await run(sample.test, copy.path, { VECTORS: join(copy.path, 'other.json') });
      expect(outcome.code).to.not.equal(0);
      expect(outcome.stdout + outcome.stderr).to.match(/lease_over/);
    });

    test('is a program that says ok, or why not', async () => {
      expect(await verify('license.json', 'key.pem', APP, FINGERPRINT)).to.deep.equal([0, 'ok']);
      expect(await verify('answer.json', 'key.pem', APP, FINGERPRINT)).to.deep.equal([0, 'ok']);
      expect(await verify('forged.json', 'key.pem', APP, FINGERPRINT)).to.deep.equal([1, 'bad_signature']);
      expect(await verify('license.json', 'key.pem', 'paintbox', FINGERPRINT)).to.deep.equal([
        1,
        'wrong_app',
      ]);
      expect(await verify('license.json', 'key.pem', APP, 'pc-\u00e9')).to.deep.equal([1, 'wrong_machine']);
      const seen = ['ending.json', 'key.pem', APP, FINGERPRINT, '--last-seen'] as const;
      expect(await verify(...seen, '2026-01-02T03:04:05.678Z')).to.deep.equal([0, 'ok']);
      expect(await verify(...seen, '2999-01-02T03:04:05.678Z')).to.deep.equal([1, 'clock_set_back']);
    });

    test('ends otherwise if it is not understood, or cannot read a file', async () => {
      expect(await verify()).to.deep.equal([2, '']);
      expect(await verify('license.json', 'key.pem', APP)).to.deep.equal([2, '']);
      expect(await verify('license.json', 'key.pem', APP, FINGERPRINT, '--last-seen')).to.deep.equal([2, '']);
      expect(await verify('license.json', 'key.pem', APP, FINGERPRINT, '--last-seen', 'x')).to.deep.equal([
        2,
        '',
      ]);
      expect(await verify('none.json', 'key.pem', APP, FINGERPRINT)).to.deep.equal([2, '']);
      expect(await verify('license.json', 'license.json', APP, FINGERPRINT)).to.deep.equal([2, '']);
      expect(await verify('license.json', 'p384.pem', APP, FINGERPRINT)).to.deep.equal([2, '']);
    });

    function write(name: string, text: string): Promise<void> {
      return writeFile(join(copy.path, name), text);
    }

    async function verify(...args: string[]): Promise<[number, string]> {
      const { code, stdout } = await run([...sample.program, ...args], copy.path);
      return [code, stdout.trim()];
    }
  });
}

function expectCode(code: number, outcome: Outcome): void {
  expect(outcome.code, `${outcome.stdout}\n${outcome.stderr}`).to.equal(code);
}
