// Backup and restore on the oldest PostgreSQL, by a role that owns the database and is no superuser.
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openQuietly } from '../../../cli/local-database.ts';
import { restoreBackup } from '../../../core/backup/restore-backup.ts';
import { takeBackup } from '../../../core/backup/take-backup.ts';
import { systemClock } from '../../../core/clock.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { loadMasterKeyFile } from '../../../core/storage/master-key.ts';
import { listPartitions } from '../../../core/storage/partitions.ts';
import { discard, makeDataDir } from '../../support/data-dir.ts';
import { startHub } from '../../support/hub.ts';
import { issueLicense } from '../../support/license.ts';
import { createDatabase, query } from '../../support/postgres.ts';
import { type Postgres15, startPostgres15 } from '../../support/postgres-15.ts';

const PASSPHRASE = 'correct horse battery staple';

describe('a backup on PostgreSQL 15 by a plain owner', function () {
  this.timeout(60_000); // it makes a cluster
  let server: Postgres15 | undefined;
  let directory: string;

  before(async function () {
    server = await startPostgres15(this);
    directory = await makeDataDir();
  });
  after(async () => {
    if (server === undefined) return;
    await server.stop();
    await discard(directory);
  });

  it('is taken, and restored there and on a later version, into partitions of their months', async () => {
    if (server === undefined) throw new Error('there is no server');
    const hub = await startHub({ settings: { databaseUrl: await server.createDatabase() } });
    await issueLicense(hub.admin);
    const keys = loadMasterKeyFile(join(hub.dataDir, 'master.key'));
    await hub.stop();
    const path = join(directory, 'hub.age');
    const encryption = { passphrase: PASSPHRASE, logN: 2 };
    const options = {
      address: { url: hub.databaseUrl },
      keys,
      hubVersion: '0.0.0-test',
      encryption,
      clock: systemClock,
    };
    await takeBackup(options, createWriteStream(path));
    for (const databaseUrl of [await server.createDatabase(), await createDatabase()]) {
      await restoreBackup(createReadStream(path), {
        findDatabase: async () => ({ url: databaseUrl }),
        openDatabase: openQuietly,
        dataDir: () => openDataDir(join(directory, databaseUrl.slice(-12))),
        masterKey: {},
        hubVersion: '0.0.0-test',
        passphrase: PASSPHRASE,
      });
      expect(await query(databaseUrl, 'select from license')).to.have.length(1);
      expect(await query(databaseUrl, 'select from audit_entry_default')).to.have.length(0);
      const db = await openQuietly({ url: databaseUrl });
      const months = (await listPartitions(db.pool)).filter(({ table }) => table === 'audit_entry');
      await db.close();
      expect(months).to.have.length(4);
    }
  });
});
