import { Code } from '@connectrpc/connect';
import { expect } from 'chai';
import { LicenseState } from '../../../../gen/hub/license/v1/license_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { refusal } from '../../../support/hub/refusal.ts';
import { activate } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');

describe('administration', () => {
  let hub: TestHub;
  let now = NOW;
  before(async () => {
    hub = await startHub({ clock: () => now });
  });
  after(() => hub.stop());
  beforeEach(() => {
    now = NOW;
  });

  it('creates an app once', async () => {
    const { app } = await hub.admin.createApp({ slug: 'photo-lab', name: 'Photo Lab' });
    expect(app).to.include({ slug: 'photo-lab', name: 'Photo Lab' });
    expect(app?.appId).to.match(/^app_[0-9a-z]{26}$/);
    expect(await refusal(hub.admin.createApp({ slug: 'photo-lab' }))).to.deep.equal([
      Code.AlreadyExists,
      'app_exists',
    ]);
    expect(await refusal(hub.admin.getApp({ app: 'nowhere' }))).to.deep.equal([Code.NotFound, 'app_unknown']);
    expect(await refusal(hub.admin.getApp({ app: 'no\0where' }))).to.deep.equal([
      Code.NotFound,
      'app_unknown',
    ]);
  });

  it('issues the requested licenses, with keys that are not stored', async () => {
    const app = await createApp(hub.admin);
    const expiresAt = { seconds: 1_900_000_000n, nanos: 0 };
    const request = {
      app,
      seatLimit: -1,
      limits: { a: 9007199254740991n },
      customer: 'Ada',
      expiresAt,
      leaseDays: 7,
    };
    const { licenses } = await hub.admin.issueLicenses({ ...request, count: 2 });
    expect(licenses).to.have.length(2);
    const [{ license, licenseKey } = { license: undefined, licenseKey: '' }] = licenses;
    expect(licenseKey).to.match(/^([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$/);
    expect(license).to.deep.include({ app, customer: 'Ada', leaseDays: 7, state: LicenseState.ACTIVE });
    expect(license?.keyHint).to.equal(licenseKey.slice(-5));
    expect(license?.limits).to.deep.equal({ a: 9007199254740991n });
    expect(license?.seats).to.include({ limit: -1, used: 0 });
    const dump = JSON.stringify(await query(hub.databaseUrl, 'select * from license, audit_entry'));
    for (const issued of licenses) {
      expect(dump)
        .to.not.include(issued.licenseKey)
        .and.to.not.include(issued.licenseKey.replaceAll('-', ''));
    }
  });

  it('refuses invalid terms, and issues nothing', async () => {
    const app = await createApp(hub.admin);
    const past = { seconds: BigInt(NOW.getTime() / 1000), nanos: 0 };
    const never = { seconds: 253402300800n, nanos: 0 };
    const invalid = [Code.InvalidArgument, 'expiry_invalid'];
    expect(await refusal(hub.admin.issueLicenses({ app, expiresAt: past }))).to.deep.equal(invalid);
    expect((await refusal(hub.admin.issueLicenses({ app, expiresAt: never })))[0]).to.equal(
      Code.InvalidArgument,
    );
    expect(await refusal(hub.admin.issueLicenses({ app, limitProfile: 'gold' }))).to.deep.equal([
      Code.NotFound,
      'limit_profile_unknown',
    ]);
    for (const wrong of [
      { seatLimit: -2 },
      { limits: { '9': 1n } },
      { limits: { a: -2n } },
      { count: 1001 },
    ]) {
      expect((await refusal(hub.admin.issueLicenses({ app, ...wrong })))[0]).to.equal(Code.InvalidArgument);
    }
    expect((await hub.admin.listLicenses({ app })).licenses).to.have.length(0);
  });

  it('lists every license once, newest first, page by page', async () => {
    const app = await createApp(hub.admin);
    const { licenses } = await hub.admin.issueLicenses({ app, count: 25 });
    const issued = licenses.map(({ license }) => license?.licenseId).reverse();
    const listed: (string | undefined)[] = [];
    let pageToken = '';
    do {
      const page = await hub.admin.listLicenses({ app, pageSize: 10, pageToken });
      expect(page.licenses.length).to.be.at.most(10);
      listed.push(...page.licenses.map(({ licenseId }) => licenseId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).to.deep.equal(issued);
    expect(await refusal(hub.admin.listLicenses({ pageToken: 'nonsense' }))).to.deep.equal([
      Code.InvalidArgument,
      'page_token_invalid',
    ]);
  });

  it('filters licenses by state, customer and key', async () => {
    const app = await createApp(hub.admin);
    const soon = { seconds: BigInt(NOW.getTime() / 1000 + 60), nanos: 0 };
    const active = await issueLicense(hub.admin, { app, customer: 'Ada' });
    const expired = await issueLicense(hub.admin, { app, customer: 'Bob', expiresAt: soon });
    const revoked = await issueLicense(hub.admin, { app, customer: 'Bob', expiresAt: soon });
    await hub.admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'refund' });
    now = new Date(NOW.getTime() + 60_000);
    const ids = async (filter: object) =>
      (await hub.admin.listLicenses({ app, ...filter })).licenses.map(({ licenseId }) => licenseId);
    expect(await ids({ state: LicenseState.ACTIVE })).to.deep.equal([active.licenseId]);
    expect(await ids({ state: LicenseState.EXPIRED })).to.deep.equal([expired.licenseId]);
    expect(await ids({ state: LicenseState.REVOKED })).to.deep.equal([revoked.licenseId]);
    expect(await ids({ customer: 'Bob' })).to.have.members([expired.licenseId, revoked.licenseId]);
    expect(await ids({ keyHint: active.licenseKey.slice(-5).toLowerCase() })).to.deep.equal([
      active.licenseId,
    ]);
    expect(await refusal(hub.admin.listLicenses({ app: 'nowhere' }))).to.deep.equal([
      Code.NotFound,
      'app_unknown',
    ]);
  });

  it('revokes and reinstates once each, with the reason in the audit log', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    const revoked = await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect(revoked.license).to.include({ state: LicenseState.REVOKED, revokeReason: 'refund' });
    await hub.admin.revokeLicense({ licenseId, reason: 'again' });
    const reinstated = await hub.admin.reinstateLicense({ licenseId });
    expect(reinstated.license?.state).to.equal(LicenseState.ACTIVE);
    expect(reinstated.license?.revokeReason).to.equal(undefined);
    await hub.admin.reinstateLicense({ licenseId });
    const entries = await query<{
      action: string;
      actor: string;
      before: object;
      after: object;
      request_id: string;
    }>(
      hub.databaseUrl,
      'select action, actor, before, after, request_id from audit_entry where subject = $1 order by id',
      [licenseId],
    );
    const [active, out] = [{ state: 'active' }, { state: 'revoked', reason: 'refund' }];
    expect(entries.map(({ request_id: _, ...entry }) => entry)).to.deep.equal([
      { action: 'license.revoke', actor: 'local admin', before: active, after: out },
      { action: 'license.reinstate', actor: 'local admin', before: out, after: active },
    ]);
    expect(entries[0]?.request_id).to.match(/^[0-9a-f-]{36}$/);
    const unknown = { licenseId: 'lic_00000000000000000000000000', reason: 'x' };
    expect(await refusal(hub.admin.revokeLicense(unknown))).to.deep.equal([Code.NotFound, 'license_unknown']);
  });

  it('lists and releases seats, and still lists those of a revoked license', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: 1 });
    await activate(hub.gatewayUrl, licenseKey, 'machine-1', { machineLabel: 'Läptop', appVersion: '1.2.3' });
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    const [seat] = (await hub.admin.listSeats({ licenseId })).seats;
    expect(seat).to.include({
      licenseId,
      machineFingerprint: 'machine-1',
      machineLabel: 'Läptop',
      appVersion: '1.2.3',
    });
    const seatId = seat?.seatId ?? '';
    const released = await hub.admin.releaseSeat({ seatId });
    expect(released.seat?.releasedAt).to.not.equal(undefined);
    await hub.admin.releaseSeat({ seatId });
    expect((await hub.admin.listSeats({ licenseId })).seats).to.have.length(0);
    expect((await hub.admin.listSeats({ licenseId, includeReleased: true })).seats).to.have.length(1);
    expect(await refusal(hub.admin.releaseSeat({ seatId: 'seat_nope' }))).to.deep.equal([
      Code.NotFound,
      'seat_unknown',
    ]);
    const entries = await query(hub.databaseUrl, 'select from audit_entry where subject = $1', [seatId]);
    expect(entries).to.have.length(1);
  });

  it('sets limit profiles, also concurrently', async () => {
    const app = await createApp(hub.admin);
    await Promise.all(
      [1n, 2n].map((value) => hub.admin.setLimitProfile({ app, name: 'pro', limits: { a: value } })),
    );
    await hub.admin.setLimitProfile({ app, name: 'free', limits: { b: 0n } });
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { a: 3n } });
    const { limitProfiles } = await hub.admin.listLimitProfiles({ app });
    expect(limitProfiles.map(({ name, limits }) => [name, limits])).to.deep.equal([
      ['free', { b: 0n }],
      ['pro', { a: 3n }],
    ]);
    const free = await fetch(`${hub.gatewayUrl}/v1/apps/${app}/limits/free`);
    expect(await free.json()).to.deep.equal({ app, profile: 'free', limits: { b: 0 } });
  });
});
