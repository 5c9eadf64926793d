import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { LicenseState } from '../../../../../gen/hub/license/v1/license_pb.ts';
import { LicenseService } from '../../../../../gen/hub/license/v1/license_service_pb.ts';
import { startHub, type TestHub } from '../../../../support/hub/hub.ts';
import { issueLicense } from '../../../../support/hub/license.ts';
import { refusalCode } from '../../../../support/hub/refusal.ts';
import { activate, checkStatus } from '../../../../support/network/rest.ts';
import { query } from '../../../../support/postgres/databases.ts';

describe('SuspendLicense', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('stops machines until the license is resumed, and keeps their seats', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await activate(hub.gatewayUrl, licenseKey, 'a');
    const { license } = await hub.admin.suspendLicense({ licenseId, reason: 'unpaid' });
    expect(license).to.include({ state: LicenseState.SUSPENDED, suspendReason: 'unpaid' });
    expect(license?.suspendedAt).to.not.equal(undefined);
    const machines = createClient(LicenseService, hub.transport);
    for (const machineFingerprint of ['a', 'b']) {
      expect(await refusalCode(machines.activate({ licenseKey, machineFingerprint }))).to.equal(
        'license_suspended',
      );
      expect(await refusalCode(machines.checkStatus({ licenseId, machineFingerprint }))).to.equal(
        'license_suspended',
      );
    }
    const resumed = await hub.admin.resumeLicense({ licenseId });
    expect(resumed.license).to.include({ state: LicenseState.ACTIVE, termsVersion: 1 });
    expect(resumed.license?.suspendReason).to.equal(undefined);
    expect(resumed.license?.suspendedAt).to.equal(undefined);
    expect((await checkStatus(hub.gatewayUrl, licenseId, 'a')).status).to.equal(200);
  });

  it('changes and records once, also when it is repeated', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    await hub.admin.resumeLicense({ licenseId });
    await hub.admin.suspendLicense({ licenseId, reason: 'unpaid' });
    await hub.admin.suspendLicense({ licenseId, reason: 'again' });
    await hub.admin.resumeLicense({ licenseId });
    await hub.admin.resumeLicense({ licenseId });
    const entries = await query(
      hub.databaseUrl,
      'select action, before, after from audit_entry where subject = $1 order by id',
      [licenseId],
    );
    const [running, stopped] = [{ suspended: false }, { suspended: true, reason: 'unpaid' }];
    expect(entries).to.deep.equal([
      { action: 'license.suspend', before: running, after: stopped },
      { action: 'license.resume', before: stopped, after: running },
    ]);
  });

  it('refuses a revoked license and an unknown one', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect(await refusalCode(hub.admin.suspendLicense({ licenseId, reason: 'x' }))).to.equal(
      'license_revoked',
    );
    const unknown = 'lic_00000000000000000000000000';
    expect(await refusalCode(hub.admin.resumeLicense({ licenseId: unknown }))).to.equal('license_unknown');
  });
});
