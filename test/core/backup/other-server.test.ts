// A backup moves a hub to a server of another version, by a role that owns the database and is no superuser.
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openQuietly } from '../../../cli/backup/local-database.ts';
import { restoreBackup } from '../../../core/backup/restore-backup.ts';
import { takeBackup } from '../../../core/backup/take-backup.ts';
import { systemClock } from '../../../core/clock.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { listPartitions } from '../../../core/storage/schema/partitions.ts';
import { loadMasterKeyFile } from '../../../core/storage/secrets/key-ring-file.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { createDatabase, query, startEmbedded } from '../../support/postgres/databases.ts';
import type { TestServer } from '../../support/postgres/own-server.ts';

const PASSPHRASE = 'correct horse battery staple';

describe('a backup', () => {
  let embedded: TestServer;
  let directory: string;

  before(async () => {
    embedded = await startEmbedded();
    directory = await makeDataDir();
  });
  after(async () => {
    await embedded?.stop();
    await discard(directory);
  });

  /** Of different versions where HUB_TEST_POSTGRES_BIN says so. */
  for (const [where, adminUrls] of Object.entries({
    'the embedded server': () => [undefined, embedded.adminUrl],
    'the server of the run': () => [embedded.adminUrl, undefined],
  })) {
    it(`is restored on ${where}, into partitions of the months`, async () => {
      const [from, to] = adminUrls();
      const hub = await startHub({ settings: { databaseUrl: await createDatabase(from) } });
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
      const databaseUrl = await createDatabase(to);
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
    });
  }
});
