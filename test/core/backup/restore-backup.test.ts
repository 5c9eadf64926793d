// The contents of a restored database, and that an invalid backup leaves nothing behind.
import { execFile, spawnSync } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { expect } from 'chai';
import pg from 'pg';
import { openQuietly } from '../../../cli/backup/local-database.ts';
import { recordChangeNow } from '../../../core/audit/record.ts';
import { restoreBackup, verifyBackup } from '../../../core/backup/restore-backup.ts';
import { takeBackup } from '../../../core/backup/take-backup.ts';
import { systemClock } from '../../../core/clock.ts';
import { newUuid } from '../../../core/ids.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { knownMigrations, migrateUp } from '../../../core/storage/schema/migrate.ts';
import { loadMasterKeyFile, type MasterKey } from '../../../core/storage/secrets/key-ring-file.ts';
import { createSealer } from '../../../core/storage/secrets/sealing.ts';
import { fencedBlocks, readPage } from '../../docs/markdown.ts';
import { openBackup } from '../../support/hub/backup-file.ts';
import { dumpOf } from '../../support/hub/canaries.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub } from '../../support/hub/hub.ts';
import { HUBCTL } from '../../support/hub/hub-process.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { createSession, pay, startPayments } from '../../support/hub/payment.ts';
import { activate } from '../../support/network/rest.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { verifyAll } from '../audit/verify-all.ts';

const PASSPHRASE = 'correct horse battery staple';

describe('a restored backup', () => {
  let directory: string;
  let keys: MasterKey[];
  let source: string;
  let file: string;

  before(async () => {
    directory = await makeDataDir();
    const payments = await startPayments();
    const { hub, tap, simulator } = payments;
    source = hub.databaseUrl;
    const { licenseKey, licenseId } = await issueLicense(hub.admin, { customer: 'slash \\N "é" \\.' });
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    await hub.admin.revokeLicense({ licenseId, reason: 'test' });
    for (const gateway of ['gateway_one', 'gateway_two'] as const) {
      await pay(payments, await createSession(payments, gateway));
    }
    keys = loadMasterKeyFile(join(hub.dataDir, 'master.key'));
    await Promise.all([tap.close(), simulator.close(), hub.stop()]);
    // As a hub leaves it that is killed between a commit and the link.
    await query(
      source,
      `insert into audit_entry (id, at, actor, action, subject, detail)
       select $1, max(at), 'Ada', 'app.create', 'unlinked', '{}' from audit_entry`,
      [newUuid()],
    );
    file = await backUp('whole.age', source);
  });
  after(() => discard(directory));

  async function backUp(name: string, databaseUrl: string): Promise<string> {
    const path = join(directory, name);
    const encryption = { passphrase: PASSPHRASE, logN: 2 };
    const options = {
      address: { url: databaseUrl },
      keys,
      hubVersion: '0.0.0-test',
      encryption,
      clock: systemClock,
    };
    await takeBackup(options, createWriteStream(path));
    return path;
  }

  async function restore(
    databaseUrl: string,
    options: { path?: string; dataDir?: string; openDatabase?: typeof openQuietly } = {},
  ) {
    const {
      path = file,
      dataDir = join(directory, databaseUrl.slice(-12)),
      openDatabase = openQuietly,
    } = options;
    return restoreBackup(createReadStream(path), {
      findDatabase: async () => ({ url: databaseUrl }),
      openDatabase,
      dataDir: () => openDataDir(dataDir),
      masterKey: {},
      hubVersion: '0.0.0-test',
      passphrase: PASSPHRASE,
    });
  }

  const messageOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'it was not refused',
      (error: Error) => error.message,
    );

  it('has every row of every table, and a key ring that only its owner can read', async () => {
    const databaseUrl = await createDatabase();
    const { keyRingFile = '', rows, tables } = await restore(databaseUrl);
    expect(await rowsOf(databaseUrl)).to.deep.equal(await rowsOf(source));
    expect(loadMasterKeyFile(keyRingFile).map(({ id }) => id)).to.deep.equal(keys.map(({ id }) => id));
    expect((await stat(keyRingFile)).mode & 0o777).to.equal(0o600);
    expect(await verifyBackup(createReadStream(file), PASSPHRASE)).to.deep.include({ rows, tables });
  });

  it('has an intact audit log, including entries not linked at the time of the backup', async () => {
    const databaseUrl = await createDatabase();
    await restore(databaseUrl);
    const waiting = await query(
      databaseUrl,
      'select subject, action from audit_unlinked join audit_entry on id = entry_id order by at',
    );
    const { createdAt } = (await verifyBackup(createReadStream(file), PASSPHRASE)).manifest;
    expect(waiting).to.deep.equal([
      { subject: 'unlinked', action: 'app.create' },
      { subject: createdAt, action: 'backup.restore' },
    ]);
    await using db = new AsyncDisposableStack();
    const { pool, close } = await openQuietly({ url: databaseUrl });
    db.defer(close);
    const chain = { pool, sealer: createSealer(keys), clock: systemClock };
    const { broken, head } = await verifyAll(chain);
    expect(broken).to.equal(undefined);
    const [last] = await query(
      databaseUrl,
      'select subject from audit_entry join audit_link on entry_id = id where seq = $1',
      [head.seq - 1],
    );
    expect(last).to.deep.equal({ subject: 'unlinked' });
    const change = { action: 'app.create', subject: 'later', before: null, after: { slug: 'later' } };
    await recordChangeNow(pool, { kind: 'token', name: 'Ada', requestId: '' }, new Date(), change);
    const later = await verifyAll(chain);
    expect(later).to.deep.include({ broken: undefined, entries: head.seq + 1 });
  });

  it('replaces what a hub recorded at its first start', async () => {
    const hub = await startHub();
    const { databaseUrl } = hub;
    await hub.stop();
    await restore(databaseUrl);
    expect(await rowsOf(databaseUrl)).to.deep.equal(await rowsOf(source));
  });

  it('waits briefly for the connections of a stopped hub', async () => {
    const databaseUrl = await createDatabase();
    const last = new pg.Client({ connectionString: databaseUrl, application_name: 'hub' });
    await last.connect();
    const restoring = restore(databaseUrl);
    const watcher = `select from pg_stat_activity where datname = current_database() and application_name = 'hubctl backup restore'`;
    await until(
      async () => (await query(databaseUrl, watcher)).length > 0,
      'the restore looks at the database',
    );
    await last.end();
    expect((await restoring).rows).to.be.greaterThan(0);
  });

  it('is refused for a database that is in use or has rows', async () => {
    const hub = await startHub();
    const before = await rowsOf(hub.databaseUrl);
    expect(await messageOf(restore(hub.databaseUrl))).to.match(/^a hub uses this database: stop it/);
    await issueLicense(hub.admin);
    const { databaseUrl } = hub;
    await hub.stop();
    expect(await messageOf(restore(databaseUrl))).to.match(
      /^the database is not empty: there are rows in public\.\w+\. Restore into a new database/,
    );
    expect((await rowsOf(databaseUrl)).length).to.be.greaterThan(before.length);
  });

  it('is refused if a hub starts after the first checks, and the hub keeps its token', async () => {
    await using undo = new AsyncDisposableStack();
    const databaseUrl = await createDatabase();
    const openDatabase: typeof openQuietly = async (address) => {
      const hub = await startHub({ settings: { databaseUrl } });
      undo.defer(() => hub.stop());
      return openQuietly(address);
    };
    expect(await messageOf(restore(databaseUrl, { openDatabase }))).to.match(
      /^a hub uses this database: stop it/,
    );
    expect(await query(databaseUrl, 'select name from service_token')).to.deep.equal([
      { name: 'local admin' },
    ]);
  });

  it('waits, also after the first checks, for the connections of a stopped hub', async () => {
    const databaseUrl = await createDatabase();
    const last = new pg.Client({ connectionString: databaseUrl, application_name: 'hub' });
    const openDatabase: typeof openQuietly = async (address) => {
      await last.connect();
      return openQuietly(address);
    };
    const restoring = restore(databaseUrl, { openDatabase });
    const watcher = `select from pg_locks where relation = to_regclass('master_key_use') and mode = 'AccessExclusiveLock'
                     and granted`;
    await until(async () => (await query(databaseUrl, watcher)).length > 0, 'the restore has the lock');
    await last.end();
    expect((await restoring).rows).to.be.greaterThan(0);
  });

  it('is refused if the hub has other master keys, and keeps them', async () => {
    const [databaseUrl, dataDir] = [await createDatabase(), join(directory, 'taken')];
    await mkdir(dataDir, { mode: 0o700 });
    const kept = Buffer.alloc(32, 7).toString('base64');
    await writeFile(join(dataDir, 'master.key'), kept, { mode: 0o600 });
    expect(await messageOf(restore(databaseUrl, { dataDir }))).to.contain(
      'has other master keys than the backup. Move it away: mv ',
    );
    expect(await readFile(join(dataDir, 'master.key'), 'utf8')).to.equal(kept);
    await expectEmpty(databaseUrl);
  });

  it('of an older schema with partitions is migrated', async () => {
    const [older, target] = [await createDatabase(), await createDatabase()];
    const db = await openQuietly({ url: older });
    await migrateUp(db, { to: 'Migration20261125000005_license' });
    await db.close();
    await query(older, `insert into app values (gen_random_uuid(), 'old-app', 'Old', now())`);
    await query(older, `insert into audit_entry values ($1, now(), 'x', 'app.create', 'old-app', '{}')`, [
      newUuid(),
    ]);
    // A hub has served: the restore is recorded in the audit log.
    await query(older, `insert into audit_head values (1, 0, '', '', gen_random_uuid())`);
    await query(older, `select make_month_partitions('audit_entry', months_astray('audit_entry'))`);
    const path = await backUp('older.age', older);
    await restore(target, { path });
    expect(await query(target, 'select slug from app')).to.deep.equal([{ slug: 'old-app' }]);
    const known = knownMigrations();
    expect(await query(target, 'select from hub_migration')).to.have.length(known.length);
    expect(await messageOf(restore(target, { path }))).to.match(
      /^the backup of .+ is restored completely in this database already/,
    );
  });

  it('is refused by a hub that does not know its schema', async () => {
    const databaseUrl = await createDatabase();
    await restore(databaseUrl);
    await query(databaseUrl, `insert into hub_migration (name) values ('Migration20991231000000_later')`);
    const path = await backUp('later.age', databaseUrl);
    const target = await createDatabase();
    expect(await messageOf(restore(target, { path }))).to.match(
      /the migration Migration20991231000000_later is unknown\. Restore with hub 0\.0\.0-test or later/,
    );
    await expectEmpty(target);
  });

  it('is refused if the file is altered or truncated anywhere, and leaves the database empty', async () => {
    const whole = await readFile(file);
    const changed = (at: number) => whole.with(at, (whole[at] ?? 0) ^ 1);
    const damaged: Record<string, Uint8Array> = {
      'the salt changed': changed(30),
      'the header changed': changed(130),
      'the beginning changed': changed(600),
      'the middle changed': changed(whole.length >> 1),
      'the end changed': changed(whole.length - 1),
      'the last byte gone': whole.subarray(0, -1),
      'the half gone': whole.subarray(0, whole.length >> 1),
      'all but the header gone': whole.subarray(0, 200),
      'something added': Buffer.concat([whole, Buffer.alloc(20)]),
      'something else in its place': Buffer.from('PGDMP\n and more'),
      'nothing in it': Buffer.of(),
    };
    const [databaseUrl, path] = [await createDatabase(), join(directory, 'damaged.age')];
    for (const [what, bytes] of Object.entries(damaged)) {
      await writeFile(path, bytes);
      const expected =
        /^(the file is not a backup, or it is altered or truncated \(.+\): |the file is not a backup: |the passphrase is wrong$)/;
      expect(await messageOf(restore(databaseUrl, { path })), what).to.match(expected);
      expect(await messageOf(verifyBackup(createReadStream(path), PASSPHRASE)), what).to.match(expected);
      await expectEmpty(databaseUrl);
    }
    await restore(databaseUrl);
    expect(await rowsOf(databaseUrl)).to.deep.equal(await rowsOf(source));
  });

  it('never prints the contents of a file given by mistake, not even in a stack trace', async () => {
    const path = join(directory, 'credentials.json');
    await writeFile(path, '{"storePassword":"canary-4711"}\n');
    const thrown = await verifyBackup(createReadStream(path), PASSPHRASE).catch((error: unknown) => error);
    expect(inspect(thrown))
      .to.match(/the file is not a backup: give one/)
      .and.not.contain('canary');
  });

  it('can be restored by hand, as docs/backup.md describes', async function () {
    const missing = ['psql', 'tar', 'jq'].filter(
      (tool) => spawnSync(tool, ['--version']).error !== undefined,
    );
    if (missing.length > 0) {
      process.stderr.write(`      pending: there is no ${missing.join(', ')}\n`);
      this.skip();
    }
    const [place, databaseUrl] = [join(directory, 'by-hand'), await createDatabase()];
    await mkdir(join(place, 'bin'), { recursive: true });
    // The tool prompts at the terminal itself.
    await writeFile(join(place, 'hub.tar'), await openBackup(file, PASSPHRASE));
    await writeFile(join(place, 'bin/age'), '#!/bin/sh\nexec cat hub.tar\n', { mode: 0o755 });
    await writeFile(join(place, 'bin/hubctl'), `#!/bin/sh\nexec "${process.execPath}" "${HUBCTL}" "$@"\n`, {
      mode: 0o755,
    });
    const commands = fencedBlocks(readPage('docs/backup.md'), 'sh').find((block) => block.includes('age -d'));
    const env = {
      ...process.env,
      PATH: `${join(place, 'bin')}:${process.env['PATH']}`,
      DATABASE_URL: databaseUrl,
      HUB_DATA_DIR: join(place, 'data-dir'),
    };
    await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands ?? 'false'], { cwd: place, env });
    const isRow = (line: string): boolean => line.startsWith('{'); // the others are names of tables, partitions among them
    expect((await rowsOf(databaseUrl)).filter(isRow)).to.deep.equal((await rowsOf(source)).filter(isRow));
  });

  async function expectEmpty(databaseUrl: string): Promise<void> {
    const state =
      /"(name":"(Migration|callback|audit_chain|event_counter|job_|license_import|partitions|schema)|version":)/;
    expect(
      (await rowsOf(databaseUrl)).filter((row) => row.startsWith('{') && !state.test(row)),
    ).to.deep.equal([]);
  }
});

/**
 * All rows but the queue's settings and what it notes of its own work, and what is on the audit log of the restore, in an order that does
 * not depend on where they lie.
 */
async function rowsOf(databaseUrl: string): Promise<string[]> {
  const rows = (await dumpOf(databaseUrl)).split('\n');
  const restores = await query<{ id: string }>(
    databaseUrl,
    `select id from audit_entry where action = 'backup.restore'`,
  ).catch(() => []); // there is no such table yet
  return rows
    .filter((row) => !/^job\.|"(bam_on|captured_on|table_name)"/.test(row))
    .filter((row) => !restores.some(({ id }) => row.includes(id)))
    .sort();
}
