// Imported keys when the master key is rotated.
import { randomBytes } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { PaymentAdminService } from '../../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { activate } from '../../../support/network/rest.ts';
import { createMigratedDatabase, query } from '../../../support/postgres/databases.ts';

describe('the pepper of imported keys', () => {
  let databaseUrl: string;
  let hub: TestHub | undefined;
  before(async () => {
    databaseUrl = await createMigratedDatabase();
  });
  afterEach(() => hub?.stop());

  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
  /** Stops the hub and starts one that has only these master keys. */
  const restartWith = async (...keys: (string | undefined)[]): Promise<TestHub> => {
    await hub?.stop();
    hub = await startHub({ settings: { databaseUrl, masterKey: keys.join('\n') } });
    return hub;
  };
  const importKeys = ({ admin }: TestHub, app: string, keys: readonly string[]) => {
    async function* messages() {
      yield { app, licenses: keys.map((licenseKey) => ({ licenseKey })) };
    }
    return admin.importLicenses(messages());
  };
  /** The ids of the master keys that seal the pepper and the derivation secret. */
  const sealingKeys = async (): Promise<string[]> => {
    const sql = `select encode(substring(sealed_secret from 2 for 8), 'hex') as id from key_secret`;
    return (await query<{ id: string }>(databaseUrl, sql)).map(({ id }) => id);
  };

  it('is sealed with a new master key, and works without the old one and after a restart', async () => {
    const first = await restartWith(oldKey);
    const app = await createApp(first.admin);
    const imported = 'ROTATED-0000-0000-0001';
    expect(await importKeys(first, app, [imported])).to.include({ imported: 1 });
    const { licenseId, licenseKey } = await issueLicense(first.admin, { app });

    const [oldId] = await sealingKeys();
    const both = await restartWith(newKey, oldKey);
    await createClient(PaymentAdminService, both.transport).reencryptSecrets({});
    expect(await sealingKeys())
      .to.have.length(2)
      .and.not.include(oldId);
    expect((await activate(both.gatewayUrl, imported, 'machine')).status).to.equal(200);

    for (const _ of ['without the old key', 'after a restart']) {
      const { admin, gatewayUrl } = await restartWith(newKey);
      for (const key of [imported, licenseKey])
        expect((await activate(gatewayUrl, key, 'machine')).status).to.equal(200);
      expect((await admin.getLicenseKey({ licenseId })).licenseKey).to.equal(licenseKey);
    }
    // The same pepper: the key collides with itself, and another one is stored under it.
    const last = await restartWith(newKey);
    expect((await importKeys(last, app, [imported.toLowerCase()])).errors).to.have.length(1);
    expect(await importKeys(last, app, ['ROTATED-0000-0000-0002'])).to.include({ imported: 1 });
    expect((await activate(last.gatewayUrl, 'rotated-0000-0000-0002', 'machine')).status).to.equal(200);
  });
});
