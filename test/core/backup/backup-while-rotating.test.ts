// A backup during a rotation of master keys: its key ring opens everything sealed in it.
import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { openQuietly } from '../../../cli/backup/local-database.ts';
import { restoreBackup } from '../../../core/backup/restore-backup.ts';
import { takeBackup } from '../../../core/backup/take-backup.ts';
import { systemClock } from '../../../core/clock.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { loadMasterKeyFile, readMasterKeys } from '../../../core/storage/secrets/key-ring-file.ts';
import { createSealer } from '../../../core/storage/secrets/sealing.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp } from '../../support/hub/license.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

const PASSPHRASE = 'correct horse battery staple';
const APPS = 3;
const SEALED_KEYS = 'select id, sealed_private_key as sealed from signing_key';
type SealedKey = { id: string; sealed: Buffer };

describe('a backup while master keys are rotated', () => {
  const [old, fresh] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const idOf = (key: string) => readMasterKeys(key)[0]?.id ?? '';
  let directory: string;
  let file: string;
  let hub: TestHub;

  before(async () => {
    directory = await makeDataDir();
    file = join(directory, 'hub.age');
    const before = await startHub({ settings: { masterKey: old } });
    for (let count = 0; count < APPS; count++) await createApp(before.admin);
    await before.stop();
    hub = await startHub({ settings: { databaseUrl: before.databaseUrl, masterKey: `${fresh}\n${old}` } });
  });
  after(async () => {
    await hub.stop();
    await discard(directory);
  });

  const backUp = (keys: string) =>
    takeBackup(
      {
        address: { url: hub.databaseUrl },
        keys: readMasterKeys(keys),
        hubVersion: '0.0.0-test',
        encryption: { passphrase: PASSPHRASE, logN: 2 },
        clock: systemClock,
      },
      createWriteStream(file),
    );

  /** Restores it, and opens every signing key in it with the key ring in it; the ids of the keys that sealed them. */
  async function keysThatSealed(): Promise<Set<string>> {
    const databaseUrl = await createDatabase();
    const dataDir = await openDataDir(join(directory, 'restored'));
    await restoreBackup(createReadStream(file), {
      findDatabase: async () => ({ url: databaseUrl }),
      openDatabase: openQuietly,
      dataDir: async () => dataDir,
      masterKey: {},
      hubVersion: '0.0.0-test',
      passphrase: PASSPHRASE,
    });
    const sealer = createSealer(loadMasterKeyFile(dataDir.masterKeyFile));
    const rows = await query<SealedKey>(databaseUrl, SEALED_KEYS);
    for (const { id, sealed } of rows) expect(sealer.open(sealed, `signing_key:${id}`)).to.not.have.length(0);
    return new Set(rows.map(({ sealed }) => sealer.keyIdOf(sealed)));
  }

  it('can be decrypted with its own key ring, and never contains half a key ring', async () => {
    const held = new pg.Client({ connectionString: hub.databaseUrl });
    await held.connect();
    await held.query(
      'begin; select from signing_key where id = (select max(id::text)::uuid from signing_key) for update',
    );
    const rotated = createClient(PaymentAdminService, hub.transport).reencryptSecrets({});
    const { keyIdOf } = createSealer(readMasterKeys(fresh));
    await until(async () => {
      const rows = await query<SealedKey>(hub.databaseUrl, SEALED_KEYS);
      return rows.filter(({ sealed }) => keyIdOf(sealed) === idOf(fresh)).length === APPS - 1;
    }, 'all but one are sealed anew');
    for (const half of [fresh, old]) {
      const refused = await backUp(half).catch((error: Error) => error.message);
      expect(refused).to.contain(`encrypted with master key ${idOf(half === old ? fresh : old)}`);
    }
    await backUp(`${fresh}\n${old}`);
    await held.query('commit');
    await held.end();
    await rotated;
    expect(await keysThatSealed()).to.have.all.keys(idOf(old), idOf(fresh));
  });
});
