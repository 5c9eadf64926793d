// Keys that the hub derives: shown again, replaced, and safe from a reader of the database.
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Code, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { openQuietly } from '../../../../cli/backup/local-database.ts';
import { restoreBackup } from '../../../../core/backup/restore-backup.ts';
import { takeBackup } from '../../../../core/backup/take-backup.ts';
import { systemClock } from '../../../../core/clock.ts';
import { parseId } from '../../../../core/ids.ts';
import {
  deriveLicenseKey,
  formatLicenseKey,
  normalizeLicenseKey,
} from '../../../../core/license/keys/license-key.ts';
import { keySecretSealedFor } from '../../../../core/license/keys/open-key-secrets.ts';
import { openDataDir } from '../../../../core/storage/data-dir.ts';
import { loadMasterKeyFile, type MasterKey } from '../../../../core/storage/secrets/key-ring-file.ts';
import { createSealer } from '../../../../core/storage/secrets/sealing.ts';
import { PaymentAdminService } from '../../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { dumpOf } from '../../../support/hub/canaries.ts';
import { discard, makeDataDir } from '../../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { refusal, refusalCode } from '../../../support/hub/refusal.ts';
import { activate, checkStatus, deactivate } from '../../../support/network/rest.ts';
import { createDatabase, query } from '../../../support/postgres/databases.ts';
import { freshMasterKey } from '../../payment/payment-admin.ts';

const PASSPHRASE = 'correct horse battery staple';

describe('license keys', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  const showAt = async ({ admin }: TestHub, licenseId: string) =>
    (await admin.getLicenseKey({ licenseId })).licenseKey;
  const rekey = async (licenseId: string, idempotencyKey?: string, { admin } = hub) =>
    (await admin.rekeyLicense({ licenseId, ...(idempotencyKey && { idempotencyKey }) })).licenseKey;
  const entriesOf = (licenseId: string) =>
    query<{ action: string; actor: string; before: object; after: object; detail: object }>(
      hub.databaseUrl,
      `select action, actor, before, after, detail from audit_entry where subject = $1 order by id`,
      [licenseId],
    );
  const forgetSecret = (licenseId: string) =>
    query(hub.databaseUrl, 'update license set key_secret_id = null where id = $1', [
      parseId('lic', licenseId),
    ]);

  describe('are the same again', () => {
    it('each time, with an entry in the audit log that has no key', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin);
      expect(await showAt(hub, licenseId)).to.equal(licenseKey);
      const entries = await entriesOf(licenseId);
      expect(entries).to.deep.equal([
        {
          action: 'license.show_key',
          actor: 'local admin',
          before: null,
          after: null,
          detail: { keyGeneration: 1 },
        },
      ]);
    });

    it('at another hub, and after a rotation of the secret', async () => {
      const first = await issueLicense(hub.admin);
      const beside = await startHub({ beside: hub });
      try {
        expect(await showAt(beside, first.licenseId)).to.equal(first.licenseKey);
        const { keySecret } = await beside.admin.rotateKeySecret({});
        const second = await issueLicense(hub.admin, { app: first.app });
        const { keySecrets } = await hub.admin.listKeySecrets({});
        expect(keySecrets.map(({ active, licenses }) => [active, licenses]).slice(0, 1)).to.deep.equal([
          [true, 1n],
        ]);
        expect(keySecrets[0]?.keySecretId).to.equal(keySecret?.keySecretId);
        for (const { licenseId, licenseKey } of [first, second]) {
          expect(await showAt(hub, licenseId)).to.equal(licenseKey);
          expect(await showAt(beside, licenseId)).to.equal(licenseKey);
        }
      } finally {
        await beside.stop();
      }
    });

    it('with a new master key, once the old one is gone', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin);
      const oldKey = (await readFile(join(hub.dataDir, 'master.key'), 'utf8')).split('\n')[1];
      const newKey = randomBytes(32).toString('base64');
      const { databaseUrl } = hub;
      const both = await startHub({ settings: { databaseUrl, masterKey: `${newKey}\n${oldKey}` } });
      await createClient(PaymentAdminService, both.transport).reencryptSecrets({});
      await both.stop();
      const after = await startHub({ settings: { databaseUrl, masterKey: newKey } });
      expect(await showAt(after, licenseId)).to.equal(licenseKey);
      await after.stop();
      const back = await startHub({ settings: { databaseUrl, masterKey: `${oldKey}\n${newKey}` } });
      await createClient(PaymentAdminService, back.transport).reencryptSecrets({});
      await back.stop();
    });

    it('in a restored backup', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin);
      const directory = await makeDataDir();
      const path = join(directory, 'backup.age');
      const options = { address: { url: hub.databaseUrl }, hubVersion: '0.0.0-test', clock: systemClock };
      const keys = loadMasterKeyFile(join(hub.dataDir, 'master.key'));
      const encryption = { passphrase: PASSPHRASE, logN: 2 };
      await takeBackup({ ...options, keys, encryption }, createWriteStream(path));
      const databaseUrl = await createDatabase();
      const dataDir = join(directory, 'restored');
      await restoreBackup(createReadStream(path), {
        findDatabase: async () => ({ url: databaseUrl }),
        openDatabase: openQuietly,
        dataDir: () => openDataDir(dataDir),
        masterKey: {},
        hubVersion: '0.0.0-test',
        passphrase: PASSPHRASE,
      });
      const restored = await startHub({ beside: { dataDir, databaseUrl } });
      expect(await showAt(restored, licenseId)).to.equal(licenseKey);
      await restored.stop();
      await discard(directory);
    });
  });

  it('have one first secret, when two hubs need it at once', async () => {
    const first = await startHub();
    const second = await startHub({ beside: first });
    try {
      const app = await createApp(first.admin);
      expect((await first.admin.listKeySecrets({})).keySecrets).to.deep.equal([]);
      const issued = await Promise.all(
        Array.from({ length: 8 }, (_, nth) =>
          issueLicense([first, second][nth % 2]?.admin ?? first.admin, { app }),
        ),
      );
      expect((await first.admin.listKeySecrets({})).keySecrets).to.have.length(1);
      for (const { licenseId, licenseKey } of issued) {
        expect(await showAt(second, licenseId)).to.equal(licenseKey);
      }
    } finally {
      await second.stop();
      await first.stop();
    }
  });

  it('keep their secret: it cannot be deleted while a license names it', async () => {
    await issueLicense(hub.admin);
    const error = await query(hub.databaseUrl, 'delete from key_secret').catch((thrown) => thrown);
    expect(error).to.include({ constraint: 'license_key_secret_id_foreign' });
  });

  describe('after a re-key', () => {
    it('the old key is unknown, and seats, signed copies and soft checks stay', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: 1 });
      const before = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
      const newKey = await rekey(licenseId);
      expect(newKey).to.not.equal(licenseKey);
      for (const call of [activate, deactivate]) {
        const { status, body } = await call(hub.gatewayUrl, licenseKey, 'machine-1');
        expect([status, body.code]).to.deep.equal([404, 'license_key_unknown']);
      }
      expect((await checkStatus(hub.gatewayUrl, licenseId, 'machine-1')).status).to.equal(200);
      const after = await activate(hub.gatewayUrl, newKey, 'machine-1');
      expect(after.body.license.seatId).to.equal(before.body.license.seatId);
      expect(await showAt(hub, licenseId)).to.equal(newKey);
      expect((await hub.admin.getLicense({ licenseId })).license).to.include({
        keyGeneration: 2,
        keyHint: newKey.slice(-5),
      });
    });

    it('no activation that begins later accepts the old key, whatever is under way', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin, { seatLimit: -1 });
      const beside = await startHub({ beside: hub });
      let replaced = false;
      const late: number[] = [];
      let machines = 0;
      const activating = Array.from({ length: 8 }, async (_, nth) => {
        const { gatewayUrl } = nth % 2 ? beside : hub;
        for (let rounds = 0; rounds < 3 || !replaced; rounds++) {
          const isLate = replaced;
          const { status } = await activate(gatewayUrl, licenseKey, `machine-${machines++}`);
          if (isLate) late.push(status);
        }
        late.push((await activate(gatewayUrl, licenseKey, `machine-${machines++}`)).status);
      });
      await rekey(licenseId, undefined, beside);
      replaced = true;
      await Promise.all(activating);
      await beside.stop();
      expect(new Set(late)).to.deep.equal(new Set([404]));
    });

    it('a repeated request shows the new key while it is current', async () => {
      const { licenseId } = await issueLicense(hub.admin);
      const beside = await startHub({ beside: hub });
      const keys = await Promise.all(
        Array.from({ length: 8 }, (_, nth) => rekey(licenseId, 'TICKET-1', nth % 2 ? beside : hub)),
      );
      await beside.stop();
      expect(new Set(keys).size).to.equal(1);
      expect((await hub.admin.getLicense({ licenseId })).license?.keyGeneration).to.equal(2);
      expect((await entriesOf(licenseId)).map(({ action }) => action)).to.deep.equal(['license.rekey']);
      await rekey(licenseId);
      expect(await rekey(licenseId, 'TICKET-1')).to.equal('');
    });

    it('a license whose key cannot be derived has one that can be shown', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin);
      await forgetSecret(licenseId);
      expect((await hub.admin.getLicense({ licenseId })).license?.keyDerivable).to.equal(false);
      expect(await refusal(hub.admin.getLicenseKey({ licenseId }))).to.deep.equal([
        Code.FailedPrecondition,
        'key_not_derivable',
      ]);
      expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
      const newKey = await rekey(licenseId);
      expect(await showAt(hub, licenseId)).to.equal(newKey);
    });
  });

  it('of a revoked or unknown license are not replaced', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
    expect(await refusalCode(rekey(licenseId))).to.equal('license_revoked');
    expect(await showAt(hub, licenseId)).to.equal(licenseKey);
    const unknown = { licenseId: 'lic_00000000000000000000000000' };
    expect(await refusalCode(hub.admin.getLicenseKey(unknown))).to.equal('license_unknown');
    expect(await refusalCode(hub.admin.rekeyLicense(unknown))).to.equal('license_unknown');
  });

  describe('in a stolen database', () => {
    it('cannot be derived from any stored value', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin, { customer: 'Ada' });
      const secondKey = await rekey(licenseId);
      const uuid = parseId('lic', licenseId) ?? expect.fail('not an id');
      const wanted = new Set([licenseKey, secondKey].map((key) => normalizeLicenseKey(key)));
      const values = await storedValues(hub.databaseUrl);
      expect(values.length).to.be.greaterThan(100);
      const messages = [uuid, licenseId, Buffer.from(uuid.replaceAll('-', ''), 'hex')];
      for (const value of values) {
        const found = [1, 2].map((generation) => {
          const secret = createSecretKey(value);
          return normalizeLicenseKey(deriveLicenseKey(secret, uuid, generation));
        });
        for (const message of messages) {
          found.push(symbolsOf(createHmac('sha256', value).update(message).digest()));
          found.push(symbolsOf(createHmac('sha256', message).update(value).digest()));
        }
        expect(found.filter((key) => wanted.has(key))).to.deep.equal([]);
      }
    });

    it('can be derived only with the master key', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin);
      const uuid = parseId('lic', licenseId) ?? expect.fail('not an id');
      const [row = expect.fail('no secret')] = await query<{ id: string; sealed: Buffer }>(
        hub.databaseUrl,
        `select k.id, k.sealed_secret as sealed from key_secret k join license l on l.key_secret_id = k.id
         where l.id = $1`,
        [uuid],
      );
      const open = (keys: MasterKey[]) => createSealer(keys).open(row.sealed, keySecretSealedFor(row.id));
      expect(() => open([freshMasterKey()])).to.throw('Add the missing key');
      const secret = createSecretKey(open(loadMasterKeyFile(join(hub.dataDir, 'master.key'))));
      expect(deriveLicenseKey(secret, uuid, 1)).to.equal(licenseKey);
    });

    it('are not there in any form', async () => {
      const { licenseId, licenseKey } = await issueLicense(hub.admin);
      const newKey = await rekey(licenseId, 'dump');
      const dump = (await storedValues(hub.databaseUrl)).map((value) => value.toString('latin1')).join('\n');
      for (const key of [licenseKey, newKey]) {
        expect(dump).to.not.contain(key);
        expect(dump).to.not.contain(key.replaceAll('-', ''));
      }
    });
  });
});

/** Where the ciphertext of a sealed value begins; see `Sealer`. */
const CIPHERTEXT = 37;

/** Every value of every column; those of binary columns also without the head of a sealed value. */
async function storedValues(databaseUrl: string): Promise<Buffer[]> {
  const rows = (await dumpOf(databaseUrl)).split('\n').filter((line) => line.startsWith('{'));
  const texts = new Set(rows.flatMap((row) => leaves(JSON.parse(row))));
  return [...texts].flatMap((text) => {
    if (!text.startsWith('\\x')) return [Buffer.from(text)];
    const bytes = Buffer.from(text.slice(2), 'hex');
    return [Buffer.from(text.slice(2)), bytes, bytes.subarray(CIPHERTEXT)].filter(({ length }) => length > 0);
  });
}

function leaves(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leaves);
  return value === null || value === '' ? [] : [String(value)];
}

/** The key whose symbols a digest gives. */
function symbolsOf(digest: Buffer): string | undefined {
  return normalizeLicenseKey(formatLicenseKey(digest));
}
