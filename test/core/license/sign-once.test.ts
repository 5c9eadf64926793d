import { createPrivateKey } from 'node:crypto';
import { expect } from 'chai';
import { createSignOnce } from '../../../core/license/sign-once.ts';
import type { LicenseContent } from '../../../core/license/signed-license.ts';
import { generateSigningKey } from '../../../core/license/signing-key.ts';

const CONTENT: LicenseContent = {
  licenseId: 'lic_01kxyz0000e0r9m5r1c2q3s4t5',
  app: 'paint',
  seatId: 'seat_01kxyz0000e0r9m5r1c2q3s4t5',
  machineFingerprint: 'machine-1',
  issuedAt: '2026-01-02T03:04:05.678Z',
  kid: 'key-1',
};

describe('a signature', () => {
  const { privateKeyPkcs8 } = generateSigningKey();
  const privateKey = createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' });

  it('is made once for the same content, also while it is being made', async () => {
    const sign = createSignOnce();
    const [first, second] = await Promise.all([sign(CONTENT, privateKey), sign(CONTENT, privateKey)]);
    expect(second).to.deep.equal(first);
    expect(await sign({ ...CONTENT }, privateKey)).to.deep.equal(first);
  });

  it('is made anew for any other content of the seat', async () => {
    const sign = createSignOnce();
    const first = await sign(CONTENT, privateKey);
    for (const other of [
      { ...CONTENT, issuedAt: '2026-01-02T03:04:05.679Z' },
      { ...CONTENT, customer: 'Ada' },
      { ...CONTENT, limits: { projects: 3 } },
      CONTENT,
    ]) {
      const copy = await sign(other, privateKey);
      expect(copy).to.deep.include(other);
      expect(copy.signature).to.not.equal(first.signature);
    }
  });

  it('that could not be made is not remembered', async () => {
    const sign = createSignOnce();
    const bad = { ...CONTENT, issuedAt: 'now' };
    const failures = [];
    for (let time = 0; time < 2; time++) failures.push(await sign(bad, privateKey).catch((error) => error));
    expect(failures[0]).to.be.instanceOf(TypeError);
    expect(failures[1]).to.be.instanceOf(TypeError).and.not.equal(failures[0]);
  });
});
