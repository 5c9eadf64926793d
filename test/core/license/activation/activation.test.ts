import { expect } from 'chai';
import pg from 'pg';
import { parseId } from '../../../../core/ids.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { activate, checkStatus, deactivate } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';

describe('activation', () => {
  let hub: TestHub;
  let now = new Date('2026-05-01T12:00:00.000Z');
  before(async () => {
    hub = await startHub({ clock: () => now });
  });
  after(() => hub.stop());
  const changeLicense = (licenseId: string, change: string) =>
    query(hub.databaseUrl, `update license set ${change} where id = $1`, [parseId('lic', licenseId)]);
  beforeEach(() => {
    now = new Date('2026-05-01T12:00:00.000Z');
  });

  it('binds a machine and signs the terms of the license', async () => {
    const { licenseId, licenseKey, app } = await issueLicense(hub.admin, {
      customer: 'Zoë & Söhne',
      limits: { projects: -1n, exports: 9007199254740991n },
    });
    const { status, body } = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(status).to.equal(200);
    expect(body.ok).to.equal(true);
    expect(body.license).to.include({
      licenseId,
      app,
      machineFingerprint: 'machine-1',
      customer: 'Zoë & Söhne',
      issuedAt: '2026-05-01T12:00:00.000Z',
      alg: 'ES256',
    });
    expect(body.license.limits).to.deep.equal({ projects: -1, exports: 9007199254740991 });
    expect(body.license).to.not.have.any.keys('expiresAt', 'leaseExpiresAt');
    expect(body.publicKeyPem).to.match(/^-----BEGIN PUBLIC KEY-----\n/);
  });

  it('accepts the key in the spellings that people use', async () => {
    const { licenseKey } = await issueLicense(hub.admin);
    const typed = ` ${licenseKey.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`;
    expect((await activate(hub.gatewayUrl, typed, 'machine-1')).status).to.equal(200);
  });

  it('keeps the seat of a machine that activates again, and updates its data', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: 1 });
    const first = await activate(hub.gatewayUrl, licenseKey, 'machine-1', {
      machineLabel: 'old',
      appVersion: '1.0',
    });
    now = new Date('2026-05-02T12:00:00.000Z');
    const second = await activate(hub.gatewayUrl, licenseKey, 'machine-1', { machineLabel: 'new' });
    expect(second.status).to.equal(200);
    expect(second.body.license.seatId).to.equal(first.body.license.seatId);
    expect(second.body.license.issuedAt).to.equal('2026-05-02T12:00:00.000Z');
    expect(second.body.license.signature).to.not.equal(first.body.license.signature);
    const { seats } = await hub.admin.listSeats({ licenseId });
    expect(seats).to.have.length(1);
    expect(seats[0]).to.include({ machineLabel: 'new', appVersion: '1.0' });
    expect(Number(seats[0]?.lastSeenAt?.seconds)).to.equal(now.getTime() / 1000);
  });

  it('signs the current terms for a machine that activates again', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: 1 });
    const ask = async () => (await activate(hub.gatewayUrl, licenseKey, 'machine-1')).body.license;
    const first = await ask();
    const other = await issueLicense(hub.admin, { customer: 'Ada' });
    const customerId = (await hub.admin.getLicense(other)).license?.customerId;
    await changeLicense(licenseId, `customer_id = '${parseId('cus', customerId ?? '')}'`);
    expect(await ask()).to.include({ seatId: first.seatId, customer: 'Ada' });
    await changeLicense(licenseId, 'lease_days = 7');
    expect(await ask()).to.include({ leaseExpiresAt: '2026-05-08T12:00:00.000Z' });
    now = new Date('2026-05-01T12:00:00.001Z');
    expect(await ask()).to.include({ issuedAt: '2026-05-01T12:00:00.001Z' });
  });

  it('does not delay a machine with a seat while others take theirs', async () => {
    const { licenseKey } = await issueLicense(hub.admin, { seatLimit: 2 });
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    const holder = new pg.Client({ connectionString: hub.databaseUrl });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select from license for update');
      expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
      expect((await activate(hub.gatewayUrl, licenseKey, 'machine-2')).status).to.equal(503);
    } finally {
      await holder.end();
    }
  });

  it('refuses more machines than seats, and returns the numbers', async () => {
    const { licenseKey } = await issueLicense(hub.admin, { seatLimit: 2 });
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    await activate(hub.gatewayUrl, licenseKey, 'machine-2');
    const { status, body } = await activate(hub.gatewayUrl, licenseKey, 'machine-3');
    expect(status).to.equal(409);
    expect(body).to.deep.include({ ok: false, code: 'seat_limit_reached', seats: { limit: 2, used: 2 } });
  });

  it('is unlimited for -1 seats, and limited by default', async () => {
    const unlimited = await issueLicense(hub.admin, { seatLimit: -1 });
    for (let machine = 0; machine < 5; machine++) {
      expect((await activate(hub.gatewayUrl, unlimited.licenseKey, `machine-${machine}`)).status).to.equal(
        200,
      );
    }
    const unsaid = await issueLicense(hub.admin, { seatLimit: 0 }); // what the wire has for one that is not set
    expect((await activate(hub.gatewayUrl, unsaid.licenseKey, 'machine-1')).status).to.equal(200);
    const { status, body } = await activate(hub.gatewayUrl, unsaid.licenseKey, 'machine-2');
    expect([status, body.seats]).to.deep.equal([409, { limit: 1, used: 1 }]);
  });

  it('refuses unknown, revoked and expired licenses with different codes', async () => {
    const unknown = await activate(hub.gatewayUrl, '00000-00000-00000-00000-00000', 'machine-1');
    expect([unknown.status, unknown.body.code]).to.deep.equal([404, 'license_key_unknown']);
    const mistyped = await activate(hub.gatewayUrl, 'not a key', 'machine-1');
    expect([mistyped.status, mistyped.body.code]).to.deep.equal([404, 'license_key_unknown']);

    const revoked = await issueLicense(hub.admin);
    await hub.admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'refund' });
    const refused = await activate(hub.gatewayUrl, revoked.licenseKey, 'machine-1');
    expect([refused.status, refused.body.code]).to.deep.equal([410, 'license_revoked']);

    const expiring = await issueLicense(hub.admin, {
      expiresAt: { seconds: BigInt(Date.parse('2026-05-01T13:00:00Z') / 1000), nanos: 0 },
    });
    const intime = await activate(hub.gatewayUrl, expiring.licenseKey, 'machine-1');
    expect(intime.body.license.expiresAt).to.equal('2026-05-01T13:00:00.000Z');
    now = new Date('2026-05-01T13:00:00.000Z');
    const late = await activate(hub.gatewayUrl, expiring.licenseKey, 'machine-1');
    expect([late.status, late.body.code]).to.deep.equal([410, 'license_expired']);
  });

  it('limits a signed copy by the lease, which activating again renews', async () => {
    const { licenseKey } = await issueLicense(hub.admin, { leaseDays: 14 });
    const first = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(first.body.license.leaseExpiresAt).to.equal('2026-05-15T12:00:00.000Z');
    now = new Date('2026-05-10T12:00:00.000Z');
    const second = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(second.body.license.leaseExpiresAt).to.equal('2026-05-24T12:00:00.000Z');
  });

  it('applies the limit profile of the license, overridden by its own limits', async () => {
    const { licenseKey, app, licenseId } = await withProfile(
      { projects: 5n, exports: 10n },
      { exports: -1n },
    );
    const before = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(before.body.license.limits).to.deep.equal({ projects: 5, exports: -1 });
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: 7n } });
    const after = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(after.body.license.limits).to.deep.equal({ projects: 7, exports: -1 });
    expect((await checkStatus(hub.gatewayUrl, licenseId)).body.limits).to.deep.equal({
      projects: 7,
      exports: -1,
    });
  });

  async function withProfile(profile: Record<string, bigint>, limits: Record<string, bigint>) {
    const { app } = await issueLicense(hub.admin);
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: profile });
    return issueLicense(hub.admin, { app, limitProfile: 'pro', limits });
  }

  it('frees a seat for another machine on deactivation', async () => {
    const { licenseKey } = await issueLicense(hub.admin, { seatLimit: 1 });
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    const released = await deactivate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect([released.status, released.body]).to.deep.equal([200, { ok: true, released: true }]);
    const again = await deactivate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect([again.status, again.body]).to.deep.equal([200, { ok: true, released: false }]);
    expect((await activate(hub.gatewayUrl, licenseKey, 'machine-2')).status).to.equal(200);
    const never = await deactivate(hub.gatewayUrl, licenseKey, 'machine-3');
    expect([never.status, never.body.code]).to.deep.equal([404, 'seat_unknown']);
  });

  it('releases seats of a revoked license too', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect((await deactivate(hub.gatewayUrl, licenseKey, 'machine-1')).body.released).to.equal(true);
  });

  it('gives a machine a new seat after a release', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    const first = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    await deactivate(hub.gatewayUrl, licenseKey, 'machine-1');
    const second = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(second.body.license.seatId).to.not.equal(first.body.license.seatId);
    expect((await hub.admin.listSeats({ licenseId, includeReleased: true })).seats).to.have.length(2);
  });

  it('does not wait for the lock of another license', async () => {
    const held = await issueLicense(hub.admin);
    const free = await issueLicense(hub.admin);
    const holder = new pg.Client({ connectionString: hub.databaseUrl });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select from license where key_hint = $1 for update', [held.licenseKey.slice(-5)]);
      const [one, two, other] = await Promise.all([
        activate(hub.gatewayUrl, held.licenseKey, 'machine-1'),
        activate(hub.gatewayUrl, held.licenseKey, 'machine-2'),
        activate(hub.gatewayUrl, free.licenseKey, 'machine-1'),
      ]);
      expect([one.status, two.status, other.status]).to.deep.equal([503, 503, 200]);
    } finally {
      await holder.end();
    }
    expect((await activate(hub.gatewayUrl, held.licenseKey, 'machine-1')).status).to.equal(200);
  });
});
