// The published license vectors: the client's verdict for each, as a response of the hub and as its own
// record.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createLicenseClient, type LicenseClientOptions, type Verdict } from '../../client/client.ts';
import { createMemoryStore } from '../../client/state/store.ts';
import type { Verdict as Expected } from '../vectors/case.ts';
import { VECTORS_FILE, type Vector } from '../vectors/vectors.ts';
import { failureOf } from './failure-of.ts';
import { type Impostor, startImpostor } from './impostor.ts';
import { createVirtualTime } from './virtual-time.ts';

const vectors: readonly Vector[] = JSON.parse(readFileSync(VECTORS_FILE, 'utf8'));

/** The client's codes for what the vectors say. Where a text comes from decides which of them it is. */
const CODES: Readonly<Record<Expected, readonly string[]>> = {
  ok: ['licensed'],
  malformed: ['license_malformed', 'unexpected_answer', 'record_unreadable'],
  wrong_algorithm: ['wrong_algorithm'],
  unknown_key: ['untrusted_key'],
  bad_signature: ['bad_signature'],
  wrong_app: ['wrong_app'],
  wrong_machine: ['wrong_machine'],
  clock_set_back: ['clock_set_back'],
  expired: ['license_expired'],
  lease_over: ['lease_over'],
};

describe('a license client with the license vectors', () => {
  let answer: Buffer;
  let hub: Impostor;
  before(async () => {
    hub = await startImpostor((_, res) => res.writeHead(200).end(answer));
  });
  after(() => hub[Symbol.asyncDispose]());

  const open = (
    { app, fingerprint, now, publicKeyPem }: Vector,
    options: Partial<LicenseClientOptions> = {},
  ) =>
    createLicenseClient({
      hubUrl: hub.hubUrl,
      app,
      machineFingerprint: fingerprint,
      trust: { publicKeyPems: [publicKeyPem] },
      freeLimits: {},
      store: createMemoryStore(),
      clock: createVirtualTime(now).machineClock(),
      clockToleranceMs: 0,
      ...options,
    });

  for (const [pinned, trustOf] of [
    ['key', ({ publicKeyPem }: Vector) => ({ publicKeyPems: [publicKeyPem] })],
    ['thumbprint', ({ kid }: Vector) => ({ thumbprints: [kid] })],
  ] as const) {
    it(`with the pinned ${pinned} accepts valid licenses of the hub, and names the error of the others`, async () => {
      // An activation returns the current time.
      const cases = vectors.filter(({ expected }) => expected !== 'clock_set_back');
      for (const vector of cases) {
        answer = activationOf(vector);
        const client = await open(vector, { trust: trustOf(vector) });
        const activation = client.activate('any');
        const said = await activation.then(codeOf, async () => (await failureOf(activation)).code);
        // Who has the thumbprint only cannot say more than that this is another key.
        const isOtherKey = pinned === 'thumbprint' && vector.name === 'key-in-answer';
        const expected = isOtherKey ? ['key_missing'] : CODES[vector.expected];
        expect(said, vector.name).to.be.oneOf([...expected]);
      }
    });
  }

  it('accepts valid licenses from its record, and names the error of the others', async () => {
    const cases = vectors.filter((vector) => !isAnswer(vector) && vector.license !== undefined);
    expect(cases.length).to.be.greaterThan(150);
    for (const vector of cases) {
      const client = await open(vector, { store: createMemoryStore(recordOf(vector)) });
      expect(codeOf(client.current()), vector.name).to.be.oneOf([...CODES[vector.expected]]);
      expect(codeOf(await client.check()), vector.name).to.equal(codeOf(client.current()));
    }
  });
});

function codeOf(verdict: Verdict): string {
  return verdict.licensed ? 'licensed' : verdict.reason;
}

function bytesOf({ license, licenseBase64 = '' }: Vector): Buffer {
  return license === undefined ? Buffer.from(licenseBase64, 'base64') : Buffer.from(license);
}

function isAnswer(vector: Vector): boolean {
  return /^\{("ok":|"license":)/.test(bytesOf(vector).toString('latin1'));
}

function activationOf(vector: Vector): Buffer {
  const key = JSON.stringify(vector.publicKeyPem);
  if (isAnswer(vector))
    return Buffer.from(
      bytesOf(vector)
        .toString()
        .replace('"not looked at"', () => key),
    );
  return Buffer.concat([
    Buffer.from('{"ok":true,"license":'),
    bytesOf(vector),
    Buffer.from(`,"publicKeyPem":${key}}`),
  ]);
}

/** A record with this very text in it: the checksum is right, as anybody can make it. */
function recordOf({ license = '', lastSeen = '1970-01-01T00:00:00.000Z', now }: Vector): string {
  const body = `{"license":${license},"seenAt":"${lastSeen}","checkedAt":"${now}","recheckAfterSeconds":60}`;
  const checksum = createHash('sha256').update(`hubctl-license-1\n${body}`).digest('base64url');
  return `hubctl-license-1 ${checksum}\n${body}\n`;
}
