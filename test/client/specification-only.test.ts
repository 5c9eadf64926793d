// A client that knows only the specification, over the life of a license on a real hub.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense } from '../support/hub/license.ts';
import { createSpecificationClient, type SpecificationClient } from './specification-client.ts';
import { createVirtualTime, DAY } from './virtual-time.ts';

describe('a client that knows only the specification', () => {
  const time = createVirtualTime();
  let hub: TestHub;
  before(async () => {
    hub = await startHub({ clock: () => time.date() });
  });
  after(() => hub.stop());

  const on = (app: string, machine: string): SpecificationClient =>
    createSpecificationClient(hub.gatewayUrl, app, machine);
  const activated = async (request: Parameters<typeof issueLicense>[1] = {}) => {
    const issued = await issueLicense(hub.admin, request);
    const client = on(issued.app, 'machine 1/ü+&');
    const license = await client.activate(issued.licenseKey);
    if (license === undefined) throw new Error('the activation is refused');
    return { ...issued, client, license };
  };
  const inDays = (days: number) => timestampFromDate(new Date(time.date().getTime() + days * DAY));

  it('activates, checks and releases a seat', async () => {
    const { app, licenseId, licenseKey, client, license } = await activated({ seatLimit: 1 });
    expect(license.licenseId).to.equal(licenseId);
    expect(await client.softCheck(licenseId)).to.equal('active');
    expect(await client.softCheck(licenseId, { machine: false })).to.equal('active');

    const other = on(app, 'machine 2');
    expect(await other.activate(licenseKey), 'no seat is free').to.equal(undefined);
    expect(await other.softCheck(licenseId)).to.equal('not_a_seat');
    expect(await client.release(licenseKey)).to.equal(true);
    expect(await client.softCheck(licenseId)).to.equal('not_a_seat');
    expect(await client.softCheck(licenseId, { machine: false })).to.equal('active');
    expect((await other.activate(licenseKey))?.licenseId).to.equal(licenseId);
    expect(await client.softCheck('lic_1')).to.equal('unknown');
  });

  it('verifies licenses with every member that it does not know, and applies their limits', async () => {
    const { license } = await activated({
      limits: { projects: -1n, exports: 3n },
      features: ['export', 'sync'],
      metadata: { plan: 'Größe "XL"', note: 'internal' },
      signedMetadata: ['plan'],
      customer: 'Zoë',
      expiresAt: inDays(30),
      graceDays: 5,
      leaseDays: 10,
    });
    expect(license.limit('projects')).to.equal(Number.POSITIVE_INFINITY);
    expect(license.limit('exports')).to.equal(3);
    expect(license.limit('users')).to.equal(undefined);
  });

  it('applies changed terms when it activates again, and keeps its seat', async () => {
    const { licenseId, licenseKey, client, license } = await activated({
      seatLimit: 1,
      limits: { exports: 3n },
    });
    await hub.admin.updateLicense({
      licenseId,
      updateMask: { paths: ['limits', 'features'] },
      limits: { exports: 5n },
      features: ['sync'],
    });
    expect(await client.softCheck(licenseId)).to.equal('active');
    expect(license.limit('exports')).to.equal(3);
    expect((await client.activate(licenseKey))?.limit('exports')).to.equal(5);
  });

  it('works in the grace, stops when it has ended, and works again after a renewal', async () => {
    const { licenseId, licenseKey, client } = await activated({ expiresAt: inDays(10), graceDays: 5 });
    time.advance(10 * DAY);
    expect(await client.softCheck(licenseId)).to.equal('active');
    expect((await client.activate(licenseKey))?.licenseId).to.equal(licenseId);
    time.advance(5 * DAY);
    expect(await client.softCheck(licenseId)).to.equal('revoked');
    expect(await client.activate(licenseKey)).to.equal(undefined);
    await hub.admin.renewLicense({ licenseId, extension: { case: 'by', value: { years: 1 } } });
    expect(await client.softCheck(licenseId)).to.equal('active');
  });

  it('stops while the license is suspended, and works again when it is resumed', async () => {
    const { licenseId, licenseKey, client } = await activated();
    await hub.admin.suspendLicense({ licenseId, reason: 'not paid' });
    expect(await client.softCheck(licenseId)).to.equal('revoked');
    expect(await client.softCheck(licenseId, { machine: false })).to.equal('revoked');
    expect(await client.activate(licenseKey)).to.equal(undefined);
    await hub.admin.resumeLicense({ licenseId });
    expect(await client.softCheck(licenseId), 'with its old seat').to.equal('active');
    expect((await client.activate(licenseKey))?.licenseId).to.equal(licenseId);
  });

  it('keeps its seat when the license gets a new key', async () => {
    const { licenseId, licenseKey, client } = await activated({ seatLimit: 1 });
    const rekeyed = await hub.admin.rekeyLicense({ licenseId });
    expect(await client.softCheck(licenseId)).to.equal('active');
    expect(await client.activate(licenseKey), 'the old key').to.equal(undefined);
    expect((await client.activate(rekeyed.licenseKey))?.licenseId).to.equal(licenseId);
    expect(await client.release(rekeyed.licenseKey)).to.equal(true);
  });

  it('stops when the license is revoked, and can release its seat', async () => {
    const { licenseId, licenseKey, client } = await activated();
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect(await client.softCheck(licenseId)).to.equal('revoked');
    expect(await client.activate(licenseKey)).to.equal(undefined);
    expect(await client.release(licenseKey)).to.equal(true);
  });
});
