// A restore that is killed leaves a database that is empty or whole, and a key ring that is whole or not there.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync } from 'node:fs';
import { open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { openQuietly } from '../../../cli/backup/local-database.ts';
import { takeBackup } from '../../../core/backup/take-backup.ts';
import { systemClock } from '../../../core/clock.ts';
import { migrateUp } from '../../../core/storage/schema/migrate.ts';
import {
  createMasterKeyFile,
  loadMasterKeyFile,
  type MasterKey,
} from '../../../core/storage/secrets/key-ring-file.ts';
import { withDraft } from '../../../lib/files/draft-file.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub } from '../../support/hub/hub.ts';
import { HUBCTL, spawnHub } from '../../support/hub/hub-process.ts';
import { createApp } from '../../support/hub/license.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { hubctl, type Result, start } from '../spawn-hubctl.ts';

const PASSPHRASE = 'correct horse battery staple';
const RESTORING = `select pid from pg_stat_activity
                   where datname = current_database() and application_name = 'hubctl backup restore'`;

describe('a killed restore', () => {
  let directory: string;
  let file: string;
  let createdAt: string;
  let keys: MasterKey[];
  let databaseUrl: string;
  let dataDir: string;

  before(async () => {
    directory = await makeDataDir();
    file = join(directory, 'hub.age');
    await writeFile(join(directory, 'passphrase'), `${PASSPHRASE}\n`, { mode: 0o600 });
    const hub = await startHub();
    keys = loadMasterKeyFile(join(hub.dataDir, 'master.key'));
    await createApp(hub.admin);
    await hub.stop();
    // Enough to be read in many pieces.
    await query(
      hub.databaseUrl,
      `insert into audit_entry (id, at, actor, action, subject, detail)
       select uuidv7(), now(), 'Ada', 'app.create', repeat(md5(n::text), 8), '{}' from generate_series(1, 2000) n`,
    );
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
  });
  afterEach(() => discard(dataDir));

  const words = (backup: string) => [
    'backup',
    'restore',
    backup,
    '--passphrase-file',
    join(directory, 'passphrase'),
  ];
  const env = () => ({ DATABASE_URL: databaseUrl, HUB_DATA_DIR: dataDir });
  const restore = (): Promise<Result> => hubctl(words(file), env());
  const kill = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    await until(
      async () => (await query(databaseUrl, RESTORING)).length === 0,
      'the server ended its session',
    );
  };
  const apps = async () => (await query(databaseUrl, 'select from app')).length;
  const expectRestored = async (): Promise<void> => {
    const { code, stderr } = await restore();
    expect(code, stderr).to.equal(0);
    expect(await apps()).to.equal(1);
    expect(loadMasterKeyFile(join(dataDir, 'master.key'))).to.deep.equal(keys);
  };

  it('during the rows changes nothing, and the next one restores all', async () => {
    const pipe = join(dataDir, 'pipe');
    execFileSync('mkfifo', [pipe]);
    // Without the launcher of an older Node.js, which would be killed alone.
    const child = spawn(process.execPath, [HUBCTL, ...words(pipe)], { env: { ...process.env, ...env() } });
    const whole = await readFile(file);
    const writer = await open(pipe, 'w');
    await writer.write(whole.subarray(0, whole.length * 0.7));
    const copying = `select from pg_stat_progress_copy where datname = current_database() and tuples_processed > 0`;
    await until(async () => (await query(databaseUrl, copying)).length > 0, 'rows arrive');
    await kill(child);
    await writer.close();
    expect(await apps()).to.equal(0);
    expect(existsSync(join(dataDir, 'master.key'))).to.equal(false);
    await expectRestored();
  });

  it('by SIGTERM during the rows reports that nothing was restored', async () => {
    const pipe = join(dataDir, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const child = start(words(pipe), env());
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      complaint += piece;
    });
    const exit = once(child, 'close');
    const whole = await readFile(file);
    const writer = await open(pipe, 'w');
    await writer.write(whole.subarray(0, whole.length * 0.7));
    const copying = `select from pg_stat_progress_copy where datname = current_database() and tuples_processed > 0`;
    await until(async () => (await query(databaseUrl, copying)).length > 0, 'rows arrive');
    child.kill('SIGTERM');
    // A pipe is waited for until there is something to read.
    await until(() => complaint.includes('SIGTERM: finishing'), 'the signal has arrived');
    await writer.close();
    expect((await exit)[0], complaint).to.equal(143);
    expect(complaint).to.contain('hubctl: Interrupted by SIGTERM. Nothing was restored.\n');
    expect(await apps()).to.equal(0);
    expect(existsSync(join(dataDir, 'master.key'))).to.equal(false);
  });

  it('before its commit leaves the right key ring, which the next one finds', async () => {
    const { child, release } = await untilCommit();
    // The server would finish the current statement, so the test kills its session as well.
    await query(databaseUrl, `select pg_terminate_backend(pid) from (${RESTORING}) restoring`);
    await kill(child);
    await release();
    expect(await apps()).to.equal(0);
    await expectRestored();
    expect((await readdir(dataDir)).filter((name) => name.includes('key'))).to.deep.equal(['master.key']);
  });

  it('while it creates the key ring leaves a temporary file, which the next one removes', async () => {
    const draft = await withDraft(join(dataDir, 'master.key'), async (name) => name);
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    await createMasterKeyFile(draft.replace(`-${process.pid}-`, `-${pid}-`), keys);
    await expectRestored();
    expect((await readdir(dataDir)).filter((name) => name.includes('key'))).to.deep.equal(['master.key']);
  });

  it('during its commit has restored all: the next one reports it, and a hub starts', async () => {
    await writeFile(join(dataDir, 'audit-head'), `7:${'0'.repeat(64)}\n`); // of another log
    const { child, release } = await untilCommit();
    child.kill('SIGKILL');
    await release();
    await until(
      async () => (await query(databaseUrl, RESTORING)).length === 0,
      'the server ended its session',
    );
    expect(await apps()).to.equal(1);
    const { code, stderr } = await restore();
    expect({ code, stderr }).to.deep.equal({
      code: 1,
      stderr: `hubctl: the backup of ${createdAt} is restored completely in this database already: start the hub, or restore into a new one\n`,
    });
    const hub = await spawnHub(env());
    try {
      const verified = await hubctl(['audit', 'verify'], env());
      expect(verified.code, verified.stdout).to.equal(0);
    } finally {
      await hub.stop();
    }
  });

  /** A restore that has said `commit`, and waits for the server. `release` lets the server go on. */
  async function untilCommit(): Promise<{ child: ChildProcess; release: () => Promise<void> }> {
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
    const child = start(words(file), env());
    const committing = `${RESTORING} and query = 'commit' and wait_event = 'advisory'`;
    await until(async () => (await query(databaseUrl, committing)).length > 0, 'the commit waits', 30_000);
    return {
      child,
      release: async () => {
        await holder.end();
        await query(databaseUrl, 'drop function wait() cascade');
      },
    };
  }
});
