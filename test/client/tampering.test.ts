// No manipulation of a license or of the record creates or extends a license.
import { expect } from 'chai';
import fc from 'fast-check';
import { createLicenseClient, type Verdict } from '../../client/client.ts';
import { type LicenseRecord, readRecord, writeRecord } from '../../client/state/record.ts';
import { createMemoryStore } from '../../client/state/store.ts';
import { APP, FINGERPRINT, FULL, NOW, OTHER_KEY, OUR_KEY, signed } from '../vectors/case.ts';
import { createVirtualTime } from './virtual-time.ts';

const LICENSE = signed(FULL);
const RECORD: LicenseRecord = {
  license: LICENSE,
  licenseKey: '7Q2M4-00000-00000-00000-00000',
  seenAt: FULL.issuedAt,
  checkedAt: FULL.issuedAt,
  recheckAfterSeconds: 86_400,
};
const { license: _, ...WITHOUT_LICENSE } = RECORD;
const ENDED: LicenseRecord = {
  ...WITHOUT_LICENSE,
  end: { code: 'license_revoked', licenseId: FULL.licenseId },
};
/** Another record of the same machine: what was licensed before, and is over. */
const OVER: LicenseRecord = { ...RECORD, license: signed({ ...FULL, leaseExpiresAt: NOW }) };

const RUNS = { numRuns: 300 };

describe('a license client', () => {
  const TEXT = new Map<LicenseRecord, string>();
  before(async () => {
    for (const record of [RECORD, ENDED, OVER]) TEXT.set(record, await writeRecord(record));
  });

  const verdictOf = async (text: string): Promise<Verdict> => {
    const client = await createLicenseClient({
      hubUrl: 'http://127.0.0.1:1',
      app: APP,
      machineFingerprint: FINGERPRINT,
      trust: { publicKeyPems: [OUR_KEY.publicKeyPem] },
      freeLimits: { projects: 1 },
      store: createMemoryStore(text),
      clock: createVirtualTime(NOW).machineClock(),
    });
    return client.current();
  };

  it('accepts the record that the mutations start from', async () => {
    const verdict = await verdictOf(TEXT.get(RECORD) ?? '');
    expect(verdict).to.deep.include({ licensed: true, license: LICENSE, limits: FULL.limits });
    expect(await verdictOf(TEXT.get(ENDED) ?? '')).to.include({ reason: 'license_revoked' });
    expect(await verdictOf(TEXT.get(OVER) ?? '')).to.include({ reason: 'lease_over' });
  });

  it('refuses a record with a changed, missing or added character', async () => {
    const edit = fc.record({
      at: fc.nat(),
      removed: fc.integer({ min: 0, max: 3 }),
      inserted: fc.string({ maxLength: 3, unit: 'binary' }),
    });
    const text = TEXT.get(RECORD) ?? '';
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 4 }), async (edits) => {
        const changed = edits.reduce((before, { at, removed, inserted }) => {
          const place = at % (before.length + 1);
          return before.slice(0, place) + inserted + before.slice(place + removed);
        }, text);
        fc.pre(changed !== text);
        expect((await verdictOf(changed)).licensed).to.equal(false);
      }),
      RUNS,
    );
  });

  it('refuses a record of any other value', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), async (text) => {
        expect((await verdictOf(text)).licensed).to.equal(false);
      }),
      RUNS,
    );
  });

  it('gains nothing from a forged record with a correct checksum', async () => {
    const instant = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') });
    const member = fc.oneof(
      fc.jsonValue(),
      instant.map((date) => date.toISOString()),
      fc.constantFrom<unknown>(LICENSE, OVER.license, signed(FULL, OTHER_KEY), FULL, ENDED.end),
    );
    const changes = fc.dictionary(
      fc.constantFrom(...Object.keys(RECORD), 'end', 'key', 'limits', 'verdict', '__proto__'),
      member,
    );
    let licensed = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(RECORD, ENDED, OVER), changes, async (record, changed) => {
        const forged = { ...record, ...changed } as LicenseRecord; // anybody can write anything
        const verdict = await verdictOf(await writeRecord(forged));
        if (!verdict.licensed) return;
        licensed += 1;
        expect(verdict.license).to.deep.equal(LICENSE);
        expect(verdict.limits).to.deep.equal(FULL.limits);
        expect(verdict.validUntil?.toISOString()).to.equal(FULL.leaseExpiresAt);
      }),
      RUNS,
    );
    expect(licensed, 'some change nothing of consequence').to.be.greaterThan(0);
  });

  it('refuses a license that differs from the signed one', async () => {
    const value = fc.oneof(fc.string(), fc.maxSafeInteger(), fc.dictionary(fc.string(), fc.maxSafeInteger()));
    const name = fc.oneof(fc.constantFrom(...Object.keys(LICENSE)), fc.string());
    await fc.assert(
      fc.asyncProperty(name, fc.option(value, { nil: undefined }), async (member, put) => {
        const forged: Record<string, unknown> = { ...LICENSE };
        if (put === undefined) delete forged[member];
        else Object.defineProperty(forged, member, { value: put, enumerable: true, configurable: true });
        fc.pre(JSON.stringify(forged) !== JSON.stringify(LICENSE));
        const text = await writeRecord({ ...RECORD, license: forged });
        expect((await verdictOf(text)).licensed).to.equal(false);
      }),
      RUNS,
    );
  });

  it('refuses a signed license with members of the wrong type', async () => {
    for (const odd of [
      { licenseId: 1 },
      { seatId: {} },
      { customer: 5 },
      { limits: 5 },
      { limits: { projects: 'many' } },
      { issuedAt: 'yesterday' },
      { expiresAt: '2027-02-30T00:00:00.000Z' },
    ]) {
      const text = await writeRecord({ ...RECORD, license: signed({ ...FULL, ...odd }) });
      expect(await verdictOf(text), JSON.stringify(odd)).to.include({ reason: 'license_malformed' });
    }
  });

  it('refuses every invalid signature', async () => {
    const bytes = fc.uint8Array({ minLength: 64, maxLength: 64 });
    await fc.assert(
      fc.asyncProperty(bytes, async (signature) => {
        const forged = { ...LICENSE, signature: Buffer.from(signature).toString('base64url') };
        const text = await writeRecord({ ...RECORD, license: forged });
        expect(await verdictOf(text)).to.include({ licensed: false, reason: 'bad_signature' });
      }),
      RUNS,
    );
  });

  it('refuses a signature or a key that is far too long', async () => {
    const long = 'A'.repeat(200_000);
    const signedLong = await writeRecord({ ...RECORD, license: { ...LICENSE, signature: long } });
    expect(await verdictOf(signedLong)).to.include({ licensed: false, reason: 'bad_signature' });
    const keyLong = await writeRecord({ ...RECORD, key: { x: long, y: long } });
    expect(await verdictOf(keyLong)).to.include({ licensed: false, reason: 'record_unreadable' });
  });

  it('cannot be changed through its verdict', async () => {
    const verdict = await verdictOf(TEXT.get(RECORD) ?? '');
    const limits = verdict.limits as Record<string, number>; // as JavaScript sees it
    expect(() => {
      limits['projects'] = -1;
    }).to.throw(TypeError);
  });

  it('reads back all records it has written', async () => {
    expect(await readRecord(TEXT.get(RECORD) ?? '')).to.deep.equal(RECORD);
    expect(await readRecord(TEXT.get(ENDED) ?? '')).to.deep.equal(ENDED);
  });
});
