// Runs the verifier over the test vectors: node --test
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { verifyLicense } from './verify-license.mjs';

const file = process.env.VECTORS ?? new URL('../../../test/vectors/vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8'));
console.log(`${vectors.length} vectors`);

for (const vector of vectors) {
  test(vector.name, async () => {
    assert.strictEqual(await verdictOf(vector), vector.expected, vector.about);
  });
}

test('an expiry, with a clock that shows a year after 9999', async () => {
  const vector = vectors.find(({ name }) => name === 'good-expires');
  assert.strictEqual(await verdictOf({ ...vector, now: '+010000-01-01T00:00:00.000Z' }), 'expired');
});

function verdictOf(vector) {
  const bytes =
    vector.license === undefined
      ? Buffer.from(vector.licenseBase64, 'base64')
      : new TextEncoder().encode(vector.license);
  const { publicKeyPem, app, fingerprint } = vector;
  const now = new Date(vector.now);
  const lastSeen = vector.lastSeen && new Date(vector.lastSeen);
  return verifyLicense(bytes, { publicKeyPem, app, fingerprint, now, lastSeen }).then(
    () => 'ok',
    (error) => error.reason ?? error,
  );
}
