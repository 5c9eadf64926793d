// A restore whose connection breaks in its commit says which of both is true, and takes nothing away that is needed.
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { openQuietly } from '../../cli/backup/local-database.ts';
import { restoreBackup } from '../../core/backup/restore-backup.ts';
import { takeBackup } from '../../core/backup/take-backup.ts';
import { systemClock } from '../../core/clock.ts';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { migrateUp } from '../../core/storage/schema/migrate.ts';
import { loadMasterKeyFile, type MasterKey } from '../../core/storage/secrets/key-ring-file.ts';
import { discard, makeDataDir } from '../support/hub/data-dir.ts';
import { startHub } from '../support/hub/hub.ts';
import { createApp } from '../support/hub/license.ts';
import { startTcpProxy, type TcpProxy } from '../support/network/tcp-proxy.ts';
import { createDatabase, query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const PASSPHRASE = 'correct horse battery staple';
const HEAD = `7:${'0'.repeat(64)}\n`;
const NOBODY = 'postgres://127.0.0.1:1/';

describe('a restore whose commit gets no response', () => {
  let directory: string;
  let file: string;
  let createdAt: string;
  let keys: MasterKey[];
  let databaseUrl: string;
  let dataDir: string;
  let proxy: TcpProxy;

  before(async () => {
    directory = await makeDataDir();
    file = join(directory, 'hub.age');
    const hub = await startHub();
    keys = loadMasterKeyFile(join(hub.dataDir, 'master.key'));
    await createApp(hub.admin);
    await hub.stop();
    const encryption = { passphrase: PASSPHRASE, logN: 2 };
    const options = {
      address: { url: hub.databaseUrl },
      keys,
      hubVersion: '0.0.0-test',
      encryption,
      clock: systemClock,
    };
    ({ createdAt } = await takeBackup(options, createWriteStream(file)));
  });
  after(() => discard(directory));
  beforeEach(async () => {
    databaseUrl = await createDatabase();
    dataDir = await makeDataDir();
    await writeFile(join(dataDir, 'audit-head'), HEAD); // of another log
    proxy = await startTcpProxy(databaseUrl);
  });
  afterEach(async () => {
    await proxy.down();
    await discard(dataDir);
  });

  /** @param beforeCommit All rows are loaded, and the next `commit` is that of the restore. */
  const restore = (beforeCommit: () => void, retryForMs = 15_000, path = file) =>
    restoreBackup(createReadStream(path), {
      findDatabase: async () => ({ url: proxy.url }),
      openDatabase: openQuietly,
      dataDir: async () => {
        beforeCommit();
        return openDataDir(dataDir);
      },
      masterKey: {},
      hubVersion: '0.0.0-test',
      passphrase: PASSPHRASE,
      retryForMs,
    });
  const messageOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it was restored',
      (error: Error) => error.message,
    );
  const apps = async () => (await query(databaseUrl, 'select from app')).length;
  const files = async () => (await readdir(dataDir)).sort();
  const expectRestored = async (): Promise<void> => {
    expect(await apps()).to.equal(1);
    expect(await files()).to.deep.equal(['master.key']);
    expect(loadMasterKeyFile(join(dataDir, 'master.key'))).to.deep.equal(keys);
  };

  it('finds the data that was committed, and keeps its keys', async () => {
    const { keyRingFile } = await restore(() => proxy.loseAnswerTo('commit'));
    expect(keyRingFile).to.equal(join(dataDir, 'master.key'));
    await expectRestored();
  });

  for (const committed of [true, false]) {
    it(`${committed ? 'keeps' : 'removes'} the keys of a hub that never served, ${committed ? 'after' : 'without'} a commit`, async () => {
      const path = join(directory, `unserved-${committed}.age`);
      await backUpUnserved(path);
      const outcome = restore(
        () => (committed ? proxy.loseAnswerTo('commit') : proxy.cutAt('commit', { delivered: false })),
        15_000,
        path,
      );
      if (committed) await outcome;
      else expect(await messageOf(outcome)).to.contain('the database is still empty');
      expect(await files()).to.deep.equal([committed ? 'master.key' : 'audit-head']);
    });
  }

  it('waits for a commit that still runs', async () => {
    const db = await openQuietly({ url: databaseUrl });
    await migrateUp(db);
    await db.close();
    await query(
      databaseUrl,
      `create function wait() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(1); return null; end';
       create constraint trigger wait after insert on app deferrable initially deferred for each row execute function wait()`,
    );
    const holder = new pg.Client({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query('select pg_advisory_lock(1)');
    const restoring = restore(() => proxy.cutAt('commit', { delivered: true }));
    restoring.catch(() => {}); // awaited below
    const asking = `select from pg_stat_activity where datname = current_database() and query like 'begin; %lock table%' and wait_event_type = 'Lock'`;
    await until(async () => (await query(databaseUrl, asking)).length > 0, 'it waits for the transaction');
    await holder.end();
    await restoring;
    await expectRestored();
  });

  it('finds that nothing was committed, and leaves everything unchanged', async () => {
    const refused = await messageOf(restore(() => proxy.cutAt('commit', { delivered: false })));
    expect(refused).to.match(
      /^the backup is not restored, and the database is still empty: the commit failed \(.+\)\. Run it again$/,
    );
    expect(await apps()).to.equal(0);
    expect(await files()).to.deep.equal(['audit-head']);
    expect(await readFile(join(dataDir, 'audit-head'), 'utf8')).to.equal(HEAD);
    await restore(() => {});
    await expectRestored();
  });

  for (const committed of [true, false]) {
    it(`keeps everything while the database is down, ${committed ? 'after' : 'without'} a commit`, async () => {
      const away = () => proxy.leadTo(NOBODY);
      const refused = await messageOf(
        restore(() => {
          if (committed) proxy.loseAnswerTo('commit', away);
          else away();
        }, 200),
      );
      expect(refused)
        .to.contain('it may hold the backup or be empty')
        .and.contain(`the key ring is in ${join(dataDir, 'master.key')}`)
        .and.contain('run the same command again');
      expect(await files()).to.deep.equal(['audit-head.before-restore', 'master.key']);
      proxy.leadTo(databaseUrl);
      const again = await messageOf(restore(() => {}));
      if (committed)
        expect(again).to.contain(
          `the backup of ${createdAt} is restored completely in this database already: start the hub`,
        );
      else expect(again).to.equal('it was restored');
      await expectRestored();
    });
  }

  /** Of a database that was migrated, and that no hub has used. */
  async function backUpUnserved(path: string): Promise<void> {
    const unserved = await createDatabase();
    const db = await openQuietly({ url: unserved });
    await migrateUp(db);
    await db.close();
    await takeBackup(
      {
        address: { url: unserved },
        keys,
        hubVersion: '0.0.0-test',
        encryption: { passphrase: PASSPHRASE, logN: 2 },
        clock: systemClock,
      },
      createWriteStream(path),
    );
  }

  it('restores missing keys beside the data', async () => {
    await restore(() => {});
    const elsewhere = await makeDataDir();
    await discard(dataDir);
    dataDir = elsewhere;
    expect(existsSync(join(dataDir, 'master.key'))).to.equal(false);
    expect(await messageOf(restore(() => {}))).to.contain(
      `its key ring was missing and is in ${join(dataDir, 'master.key')} now: start the hub`,
    );
    await expectRestored();
  });
});
