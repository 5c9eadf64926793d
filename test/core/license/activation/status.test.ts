import { expect } from 'chai';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { activate, checkStatus, deactivate } from '../../../support/network/rest.ts';
import { until } from '../../../support/until.ts';

describe('the soft check', () => {
  let hub: TestHub;
  let now = new Date('2026-05-01T12:00:00.000Z');
  before(async () => {
    hub = await startHub({ clock: () => now });
  });
  after(() => hub.stop());
  beforeEach(() => {
    now = new Date('2026-05-01T12:00:00.000Z');
  });

  it('returns what a client needs', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { limits: { projects: -1n } });
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    const { status, body } = await checkStatus(hub.gatewayUrl, licenseId, 'machine-1');
    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      ok: true,
      licenseId,
      state: 'active',
      seats: { limit: 3, used: 1 },
      limits: { projects: -1 },
      termsVersion: 1,
      checkedAt: '2026-05-01T12:00:00.000Z',
      recheckAfterSeconds: 86400,
    });
  });

  it('returns 404, 410, 403 and 200 in the order of its checks', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    const code = async (id: string, fingerprint?: string) => {
      const { status, body } = await checkStatus(hub.gatewayUrl, id, fingerprint);
      return [status, body.code];
    };
    expect(await code('lic_00000000000000000000000000', 'x')).to.deep.equal([404, 'license_unknown']);
    expect(await code('anything', 'x')).to.deep.equal([404, 'license_unknown']);
    expect(await code(licenseId, 'machine-1')).to.deep.equal([403, 'seat_not_active']);
    expect(await code(licenseId)).to.deep.equal([200, undefined]);
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(await code(licenseId, 'machine-1')).to.deep.equal([200, undefined]);
    await deactivate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(await code(licenseId, 'machine-1')).to.deep.equal([403, 'seat_not_active']);
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect(await code(licenseId, 'machine-1')).to.deep.equal([410, 'license_revoked']);
    await hub.admin.reinstateLicense({ licenseId });
    expect(await code(licenseId)).to.deep.equal([200, undefined]);
  });

  it('returns 410 after a license has expired', async () => {
    const expiresAt = { seconds: BigInt(now.getTime() / 1000 + 60), nanos: 0 };
    const { licenseId } = await issueLicense(hub.admin, { expiresAt });
    expect((await checkStatus(hub.gatewayUrl, licenseId)).body.expiresAt).to.equal(
      '2026-05-01T12:01:00.000Z',
    );
    now = new Date('2026-05-01T12:01:00.000Z');
    const { status, body } = await checkStatus(hub.gatewayUrl, licenseId);
    expect([status, body.code]).to.deep.equal([410, 'license_expired']);
  });

  it('records when a machine was last seen, after the response', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    const lastSeen = async () => {
      const { seats } = await hub.admin.listSeats({ licenseId });
      return Number(seats[0]?.lastSeenAt?.seconds) * 1000;
    };
    now = new Date('2026-05-01T12:04:00.000Z');
    await checkStatus(hub.gatewayUrl, licenseId, 'machine-1');
    now = new Date('2026-05-01T12:06:00.000Z');
    await checkStatus(hub.gatewayUrl, licenseId, 'machine-1');
    await until(async () => (await lastSeen()) === now.getTime(), 'the later check is on record');
  });

  it('answers many concurrent checks, each with its own response', async () => {
    const licenses = await Promise.all(Array.from({ length: 40 }, () => issueLicense(hub.admin)));
    const answers = await Promise.all(
      licenses.map(({ licenseId }) => checkStatus(hub.gatewayUrl, licenseId)),
    );
    expect(answers.map(({ body }) => body.licenseId)).to.deep.equal(
      licenses.map(({ licenseId }) => licenseId),
    );
  });
});
