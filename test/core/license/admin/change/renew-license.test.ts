import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../../../support/hub/hub.ts';
import { issueLicense } from '../../../../support/hub/license.ts';
import { refusalCode } from '../../../../support/hub/refusal.ts';
import { activate } from '../../../../support/network/rest.ts';

const ISSUED = new Date('2026-01-31T12:00:00.000Z');

describe('RenewLicense', () => {
  let hub: TestHub;
  let now = ISSUED;
  before(async () => {
    hub = await startHub({ clock: () => now });
  });
  after(() => hub.stop());
  beforeEach(() => {
    now = ISSUED;
  });

  const issue = async (expires: string) =>
    (await issueLicense(hub.admin, { expiresAt: at(expires) })).licenseId;
  const renew = async (licenseId: string, value: object) => {
    const { license } = await hub.admin.renewLicense({ licenseId, extension: { case: 'by', value } });
    return new Date(Number(license?.expiresAt?.seconds) * 1000).toISOString();
  };
  const to = (time: string) => ({ extension: { case: 'to', value: at(time) } }) as const;

  it('extends by calendar months and years from the expiry', async () => {
    const licenseId = await issue('2028-01-31T10:00:00Z');
    expect(await renew(licenseId, { months: 1 })).to.equal('2028-02-29T10:00:00.000Z');
    expect(await renew(licenseId, { years: 1 })).to.equal('2029-02-28T10:00:00.000Z');
    expect(await renew(licenseId, { years: 1, months: 6, days: 3 })).to.equal('2030-08-31T10:00:00.000Z');
  });

  it('extends an expired license from now, and machines can use it again', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, {
      expiresAt: at('2026-02-01T00:00:00Z'),
    });
    now = new Date('2026-06-15T08:00:00.000Z');
    expect((await activate(hub.gatewayUrl, licenseKey, 'a')).status).to.equal(410);
    expect(await renew(licenseId, { months: 1 })).to.equal('2026-07-15T08:00:00.000Z');
    expect((await activate(hub.gatewayUrl, licenseKey, 'a')).status).to.equal(200);
  });

  it('extends to a time, and never shortens', async () => {
    const licenseId = await issue('2027-01-01T00:00:00Z');
    const { license } = await hub.admin.renewLicense({ licenseId, ...to('2028-01-01T00:00:00Z') });
    expect(license?.expiresAt).to.deep.include(at('2028-01-01T00:00:00Z'));
    expect(await refusalCode(hub.admin.renewLicense({ licenseId, ...to('2027-06-01T00:00:00Z') }))).to.equal(
      'expiry_invalid',
    );
    const ended = await issue('2026-02-01T00:00:00Z');
    now = new Date('2026-06-15T08:00:00.000Z');
    expect(
      await refusalCode(hub.admin.renewLicense({ licenseId: ended, ...to('2026-05-01T00:00:00Z') })),
    ).to.equal('expiry_invalid');
  });

  it('says that a time has passed, or that the license is valid for longer', async () => {
    const licenseId = await issue('2026-02-01T00:00:00Z');
    const messageOf = (time: string) =>
      hub.admin.renewLicense({ licenseId, ...to(time) }).then(
        () => 'renewed',
        (error) => ConnectError.from(error).rawMessage,
      );
    expect(await messageOf('2026-01-31T13:00:00Z')).to.equal(
      'the license is valid for longer, until 2026-02-01T00:00:00.000Z: ' +
        'to shorten it, update the license with a new expiry',
    );
    now = new Date('2026-06-15T08:00:00.000Z');
    for (const time of ['2026-01-15T00:00:00Z', '2026-05-01T00:00:00Z', '2026-06-15T08:00:00Z']) {
      expect(await messageOf(time)).to.equal(
        'this time has passed: renew the license to a time in the future',
      );
    }
  });

  it('refuses what it cannot extend', async () => {
    const by = (value: object) => ({ extension: { case: 'by' as const, value } });
    const year = by({ years: 1 });
    const refused = (licenseId: string, extension: object = year) =>
      refusalCode(hub.admin.renewLicense({ licenseId, ...extension }));
    const perpetual = await issueLicense(hub.admin);
    expect(await refused(perpetual.licenseId)).to.equal('period_invalid');
    expect(await refused(perpetual.licenseId, to('2027-01-01T00:00:00Z'))).to.equal('expiry_invalid');
    const licenseId = await issue('9999-06-01T00:00:00Z');
    expect(await refused(licenseId)).to.equal('expiry_invalid');
    expect(await refused(licenseId, by({}))).to.equal('period_invalid');
    expect(await refused(licenseId, {})).to.equal('period_invalid');
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect(await refused(licenseId)).to.equal('license_revoked');
  });
});

function at(time: string): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Date.parse(time) / 1000), nanos: 0 };
}
