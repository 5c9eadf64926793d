// Changes of a license by two hubs at the same time, and repeated changes.
import { expect } from 'chai';
import { startHub, type TestHub } from '../../../../support/hub/hub.ts';
import { issueLicense } from '../../../../support/hub/license.ts';
import { refusalCode } from '../../../../support/hub/refusal.ts';
import { query } from '../../../../support/postgres/databases.ts';

describe('changes of a license', () => {
  let hub: TestHub;
  let other: TestHub;
  before(async () => {
    hub = await startHub();
    other = await startHub({ beside: hub });
  });
  after(async () => {
    await other.stop();
    await hub.stop();
  });

  it('change the expected version only, under two hubs', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    const changes = Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? hub : other).admin.updateLicense({
        licenseId,
        setLimits: { projects: BigInt(index) },
        expectedTermsVersion: 1,
      }),
    );
    const outcomes = await Promise.allSettled(changes);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).to.have.length(9);
    expect(
      await refusalCode(changes[outcomes.indexOf(refused[0] ?? expect.fail())] ?? expect.fail()),
    ).to.equal('version_conflict');
    expect((await hub.admin.getLicense({ licenseId })).license?.termsVersion).to.equal(2);
    const { customerId } = await addCustomer();
    const stale = { licenseId, expectedTermsVersion: 1 };
    expect(await refusalCode(other.admin.transferLicense({ ...stale, customerId }))).to.equal(
      'version_conflict',
    );
    const by = { case: 'by', value: { years: 1 } } as const;
    expect(await refusalCode(other.admin.renewLicense({ ...stale, extension: by }))).to.equal(
      'version_conflict',
    );
  });

  it('happen once for an idempotency key, under two hubs', async () => {
    const expiresAt = { seconds: BigInt(Math.floor(Date.now() / 1000)) + 86_400n, nanos: 0 };
    const { licenseId } = await issueLicense(hub.admin, { expiresAt });
    const request = {
      licenseId,
      extension: { case: 'by', value: { years: 1 } } as const,
      idempotencyKey: 'invoice-17',
    };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? hub : other).admin.renewLicense(request)),
    );
    expect(new Set(answers.map(({ license }) => license?.termsVersion))).to.deep.equal(new Set([2]));
    expect(answers.filter(({ changed }) => changed)).to.have.length(1);
    // A repeated request returns the earlier result before any check.
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect((await other.admin.renewLicense(request)).license?.termsVersion).to.equal(2);
    const longer = { case: 'by', value: { years: 2 } } as const;
    expect(await refusalCode(hub.admin.renewLicense({ ...request, extension: longer }))).to.equal(
      'idempotency_key_reused',
    );
    // A key belongs to one license and one kind of change.
    const { license } = await hub.admin.updateLicense({
      licenseId,
      addFeatures: ['export'],
      idempotencyKey: 'invoice-17',
    });
    expect(license?.termsVersion).to.equal(3);
  });

  it('report whether they changed the license', async () => {
    const expiresAt = { seconds: 1_900_000_000n, nanos: 0 };
    const { licenseId } = await issueLicense(hub.admin, { expiresAt });
    const { customerId } = await addCustomer();
    const reason = 'unpaid';
    const { admin } = hub;
    const extension = { case: 'to', value: { seconds: 2_000_000_000n, nanos: 0 } } as const;
    for (const call of [
      () => admin.updateLicense({ licenseId, addFeatures: ['export'] }),
      () => admin.renewLicense({ licenseId, extension, idempotencyKey: 'once' }),
      () => admin.transferLicense({ licenseId, customerId }),
      () => admin.suspendLicense({ licenseId, reason }),
      () => admin.resumeLicense({ licenseId }),
      () => admin.revokeLicense({ licenseId, reason }),
      () => admin.reinstateLicense({ licenseId }),
    ]) {
      expect([(await call()).changed, (await call()).changed], `${call}`).to.deep.equal([true, false]);
    }
  });

  it('do not store the key of a refused change', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    const request = { licenseId, expectedTermsVersion: 2, addFeatures: ['export'], idempotencyKey: 'once' };
    expect(await refusalCode(hub.admin.updateLicense(request))).to.equal('version_conflict');
    await hub.admin.updateLicense({ licenseId, addFeatures: ['sync'] });
    expect((await hub.admin.updateLicense(request)).license?.features).to.deep.equal(['export', 'sync']);
  });

  it('transfer a license to another customer once, with its seats', async () => {
    const { licenseId } = await issueLicense(hub.admin, { customer: 'Ada Lovelace' });
    const { customerId, name } = await addCustomer();
    const { license } = await hub.admin.transferLicense({ licenseId, customerId });
    expect(license).to.include({ customerId, customer: name, termsVersion: 2 });
    const again = await hub.admin.transferLicense({ licenseId, customerId });
    expect(again.license?.termsVersion).to.equal(2);
    const unknown = 'cus_00000000000000000000000000';
    for (const id of [unknown, 'somebody']) {
      expect(await refusalCode(hub.admin.transferLicense({ licenseId, customerId: id }))).to.equal(
        'customer_unknown',
      );
    }
    await query(hub.databaseUrl, `update customer set erased_at = now() where name = $1`, [name]);
    const third = await issueLicense(hub.admin);
    const { licenseId: thirdId } = third;
    expect(await refusalCode(hub.admin.transferLicense({ licenseId: thirdId, customerId }))).to.equal(
      'customer_erased',
    );
  });

  let customers = 0;
  /** A customer with a license. */
  async function addCustomer(): Promise<{ customerId: string; name: string }> {
    const name = `Customer ${++customers}`;
    const { licenseId } = await issueLicense(hub.admin, { customer: name });
    const { license } = await hub.admin.getLicense({ licenseId });
    return { customerId: license?.customerId ?? '', name };
  }
});
