import { expect } from 'chai';
import { startHub, type TestHub } from '../../../../support/hub/hub.ts';
import { issueLicense } from '../../../../support/hub/license.ts';
import { refusalCode } from '../../../../support/hub/refusal.ts';
import { activate, checkStatus } from '../../../../support/network/rest.ts';
import { query, waitsForLock, withClient } from '../../../../support/postgres/databases.ts';
import { until } from '../../../../support/until.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');
const IN_2027 = { seconds: BigInt(Date.parse('2027-12-31T00:00:00Z') / 1000), nanos: 0 };

describe('UpdateLicense', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub({ clock: () => NOW });
  });
  after(() => hub.stop());

  it('changes the named terms, counts the version, and keeps the others', async () => {
    const { licenseId, app } = await issueLicense(hub.admin, { limits: { projects: 1n, exports: 2n } });
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { users: 9n, projects: 5n } });
    const { license, seatsOverLimit } = await hub.admin.updateLicense({
      licenseId,
      updateMask: {
        paths: ['seat_limit', 'limit_profile', 'expires_at', 'grace_days', 'lease_days', 'features'],
      },
      seatLimit: 5,
      limitProfile: 'pro',
      expiresAt: IN_2027,
      graceDays: 14,
      leaseDays: 7,
      features: ['sync', 'export'],
    });
    expect(seatsOverLimit).to.equal(0);
    expect(license).to.deep.include({
      limits: { users: 9n, projects: 1n, exports: 2n },
      limitProfile: 'pro',
      features: ['export', 'sync'],
      graceDays: 14,
      leaseDays: 7,
      termsVersion: 2,
    });
    expect(license?.seats?.limit).to.equal(5);
    expect(license?.expiresAt?.seconds).to.equal(IN_2027.seconds);
    const removed = await hub.admin.updateLicense({
      licenseId,
      updateMask: { paths: ['limit_profile', 'limits', 'expires_at', 'lease_days', 'features'] },
    });
    expect(removed.license).to.deep.include({ limits: {}, features: [], graceDays: 14, termsVersion: 3 });
    expect(removed.license?.expiresAt).to.equal(undefined);
    expect(removed.license?.leaseDays).to.equal(undefined);
  });

  it('changes single limits, features and entries of metadata', async () => {
    const { licenseId } = await issueLicense(hub.admin, { limits: { projects: 1n, exports: 2n } });
    const first = await hub.admin.updateLicense({
      licenseId,
      setLimits: { projects: 10n },
      removeLimits: ['exports'],
      addFeatures: ['b', 'a'],
      setMetadata: { order: '17', Plan_Name: 'gold' },
      signMetadata: ['order', 'Plan_Name'],
    });
    expect(first.license).to.deep.include({
      limits: { projects: 10n },
      features: ['a', 'b'],
      metadata: { order: '17', Plan_Name: 'gold' },
      signedMetadata: ['Plan_Name', 'order'],
    });
    const second = await hub.admin.updateLicense({
      licenseId,
      removeFeatures: ['a'],
      removeMetadata: ['order'],
    });
    expect(second.license).to.deep.include({
      features: ['b'],
      metadata: { Plan_Name: 'gold' },
      signedMetadata: ['Plan_Name'],
      termsVersion: 3,
    });
  });

  it('reaches machines at their next activation or soft check', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    await hub.admin.updateLicense({ licenseId, setLimits: { projects: 7n } });
    const status = await checkStatus(hub.gatewayUrl, licenseId, 'machine-1');
    expect(status.body).to.deep.include({ limits: { projects: 7 } });
    const { body } = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(body).to.have.nested.property('license.limits.projects', 7);
    expect(body).to.have.nested.property('license.termsVersion', 2);
  });

  it('allows fewer seats than are taken: machines keep their seats, and no other gets one', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: 3 });
    for (const machine of ['a', 'b', 'c']) await activate(hub.gatewayUrl, licenseKey, machine);
    const paths = ['seat_limit'];
    const fewer = await hub.admin.updateLicense({ licenseId, updateMask: { paths }, seatLimit: 1 });
    expect(fewer.seatsOverLimit).to.equal(2);
    expect((await checkStatus(hub.gatewayUrl, licenseId, 'c')).status).to.equal(200);
    expect((await activate(hub.gatewayUrl, licenseKey, 'a')).status).to.equal(200);
    expect((await activate(hub.gatewayUrl, licenseKey, 'd')).status).to.equal(409);
    const { seats } = await hub.admin.listSeats({ licenseId });
    for (const { seatId } of seats.slice(0, 2)) await hub.admin.releaseSeat({ seatId });
    expect((await activate(hub.gatewayUrl, licenseKey, 'd')).status).to.equal(409);
    await hub.admin.releaseSeat({ seatId: seats[2]?.seatId ?? '' });
    expect((await activate(hub.gatewayUrl, licenseKey, 'd')).status).to.equal(200);
    const unlimited = await hub.admin.updateLicense({ licenseId, updateMask: { paths }, seatLimit: -1 });
    expect(unlimited.seatsOverLimit).to.equal(0);
  });

  it('refuses what no license can have, and changes nothing', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    const past = { seconds: BigInt(NOW.getTime() / 1000), nanos: 0 };
    const last = { seconds: 253402300799n, nanos: 0 };
    const update = (request: object) => refusalCode(hub.admin.updateLicense({ licenseId, ...request }));
    const masked = (paths: string[], request: object = {}) => update({ updateMask: { paths }, ...request });
    expect(await update({})).to.equal('update_mask_invalid');
    expect(await masked(['app'])).to.equal('update_mask_invalid');
    expect(await masked(['limits.projects'])).to.equal('update_mask_invalid');
    expect(await update({ seatLimit: 5 })).to.equal('update_mask_invalid');
    expect(await masked(['expires_at'], { expiresAt: past })).to.equal('expiry_invalid');
    expect(await masked(['expires_at', 'grace_days'], { expiresAt: last, graceDays: 1 })).to.equal(
      'expiry_invalid',
    );
    expect(await masked(['limit_profile'], { limitProfile: 'gold' })).to.equal('limit_profile_unknown');
    expect(await masked(['signed_metadata'], { signedMetadata: ['a'] })).to.equal('signed_metadata_invalid');
    expect(await update({ signMetadata: ['a'] })).to.equal('signed_metadata_invalid');
    const many = Array.from({ length: 100 }, (_, index) => `feature-${index}`);
    await hub.admin.updateLicense({ licenseId, addFeatures: many });
    expect(await update({ addFeatures: ['one-more'] })).to.equal('too_many');
    expect((await hub.admin.getLicense({ licenseId })).license?.termsVersion).to.equal(2);
    const unknown = 'lic_00000000000000000000000000';
    expect(await update({ licenseId: unknown, addFeatures: ['a'] })).to.equal('license_unknown');
  });

  it('keeps a limit profile that is set while another change waits', async () => {
    const { licenseId, app } = await issueLicense(hub.admin);
    const { limitProfile } = await hub.admin.setLimitProfile({ app, name: 'pro', limits: { users: 9n } });
    await withClient(hub.databaseUrl, async (client) => {
      await client.query('begin');
      await client.query(
        `update license set limit_profile_id = (select id from limit_profile where name = 'pro' and app_id = app.id)
         from app where app.id = license.app_id and app.slug = $1`,
        [app],
      );
      const changed = hub.admin.updateLicense({ licenseId, addFeatures: ['sync'] });
      await until(() => waitsForLock(hub.databaseUrl, 'limitProfileName'), 'the change waits');
      await client.query('commit');
      expect((await changed).license).to.deep.include({
        limitProfile: limitProfile?.name,
        features: ['sync'],
      });
    });
  });

  it('records what changed, before and after', async () => {
    const { licenseId } = await issueLicense(hub.admin, { seatLimit: 2 });
    const paths = ['seat_limit', 'grace_days'];
    await hub.admin.updateLicense({ licenseId, updateMask: { paths }, seatLimit: 4, graceDays: 0 });
    await hub.admin.updateLicense({ licenseId, updateMask: { paths }, seatLimit: 4, graceDays: 0 });
    const entries = await query(
      hub.databaseUrl,
      'select action, before, after from audit_entry where subject = $1 order by id',
      [licenseId],
    );
    const [before, after] = [
      { seatLimit: 2, termsVersion: 1 },
      { seatLimit: 4, termsVersion: 2 },
    ];
    expect(entries).to.deep.equal([{ action: 'license.update', before, after }]);
  });

  it('records only the names of metadata, as an issue does', async () => {
    const { licenseId } = await issueLicense(hub.admin, { metadata: { owner: 'Ada Lovelace' } });
    await hub.admin.updateLicense({ licenseId, setMetadata: { owner: 'Grace Hopper', order: '17' } });
    await hub.admin.updateLicense({ licenseId, setMetadata: { owner: 'Alan Turing' } });
    await hub.admin.updateLicense({ licenseId, removeMetadata: ['owner'] });
    const entries = await query<{ before: object; after: object }>(
      hub.databaseUrl,
      'select before, after from audit_entry where subject = $1 order by id',
      [licenseId],
    );
    expect(entries).to.deep.equal([
      {
        before: { metadata: ['owner'], termsVersion: 1 },
        after: { metadata: ['order', 'owner'], termsVersion: 2 },
      },
      {
        before: { metadata: ['order', 'owner'], termsVersion: 2 },
        after: { metadata: ['order', 'owner'], termsVersion: 3 },
      },
      {
        before: { metadata: ['order', 'owner'], termsVersion: 3 },
        after: { metadata: ['order'], termsVersion: 4 },
      },
    ]);
    const all = await query(hub.databaseUrl, 'select before, after, detail from audit_entry');
    expect(JSON.stringify(all)).not.to.match(/Lovelace|Hopper|Turing/);
  });
});
