// A backup forged by someone with the passphrase: nothing in it becomes a statement, a file or an endless
// loop.
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { openQuietly } from '../../cli/backup/local-database.ts';
import { restoreBackup, verifyBackup } from '../../core/backup/restore-backup.ts';
import { takeBackup } from '../../core/backup/take-backup.ts';
import { systemClock } from '../../core/clock.ts';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { loadMasterKeyFile } from '../../core/storage/secrets/key-ring-file.ts';
import { type BackupEntry, packBackup, unpackBackup } from '../support/hub/backup-file.ts';
import { discard, makeDataDir } from '../support/hub/data-dir.ts';
import { startHub } from '../support/hub/hub.ts';
import { createApp } from '../support/hub/license.ts';
import { createDatabase, query } from '../support/postgres/databases.ts';

const PASSPHRASE = 'correct horse battery staple';
type Fields = Record<string, unknown>;
type Parsed = Fields & { tables: Fields[]; sequences: Fields[] };

describe('a hostile backup', () => {
  let directory: string;
  let honest: BackupEntry[];
  let databaseUrl: string;
  let owned: string;

  before(async () => {
    directory = await makeDataDir();
    // A short path: names in a backup have at most 63 bytes.
    owned = join('/tmp', `o${process.pid}`);
    const hub = await startHub();
    const keys = loadMasterKeyFile(join(hub.dataDir, 'master.key'));
    await createApp(hub.admin);
    await hub.stop();
    const path = join(directory, 'honest.age');
    const encryption = { passphrase: PASSPHRASE, logN: 2 };
    const options = {
      address: { url: hub.databaseUrl },
      keys,
      hubVersion: '0.0.0-test',
      encryption,
      clock: systemClock,
    };
    await takeBackup(options, createWriteStream(path));
    honest = await unpackBackup(path, PASSPHRASE);
    databaseUrl = await createDatabase();
  });
  after(() => discard(directory));

  async function restore(entries: readonly BackupEntry[], url = databaseUrl) {
    const path = join(directory, 'hostile.age');
    await packBackup(path, PASSPHRASE, entries);
    return restoreBackup(createReadStream(path), {
      findDatabase: async () => ({ url }),
      openDatabase: openQuietly,
      dataDir: () => openDataDir(join(directory, 'data')),
      masterKey: {},
      hubVersion: '0.0.0-test',
      passphrase: PASSPHRASE,
    });
  }

  async function expectRefused(
    entries: readonly BackupEntry[],
    message: RegExp,
    url = databaseUrl,
  ): Promise<void> {
    const answer = await restore(entries, url).then(
      () => 'it was restored',
      (error: Error) => error.message,
    );
    expect(answer).to.match(message).and.to.have.length.below(400);
    const [apps] = await query(
      url,
      `select to_regclass('app') is null or not exists (select from app) as none`,
    ).catch(() => [{ none: true }]);
    expect(apps).to.deep.equal({ none: true });
    expect(existsSync(join(directory, 'data/master.key')), 'a key ring').to.equal(false);
    expect(existsSync(owned), 'a program ran').to.equal(false);
  }

  const replace = (name: string, content: Buffer | string): BackupEntry[] =>
    honest.map((entry) => (entry.name === name ? { name, content: Buffer.from(content) } : entry));
  const file = (name: string): Buffer =>
    honest.find((entry) => entry.name === name)?.content ?? Buffer.alloc(0);
  const manifest = (): Parsed => JSON.parse(file('manifest.json').toString());
  const withManifest = (change: (manifest: Parsed) => void): BackupEntry[] => {
    const changed = manifest();
    change(changed);
    return replace('manifest.json', JSON.stringify(changed));
  };
  /** The table `app` with other members. */
  const withTable = (members: Fields): BackupEntry[] =>
    withManifest(({ tables }) => Object.assign(tables.find(({ name }) => name === 'app') ?? {}, members));
  const indexOf = (name: string): number => honest.findIndex((entry) => entry.name === name);
  const insert = (at: number, ...entries: BackupEntry[]): BackupEntry[] =>
    honest.toSpliced(at, 0, ...entries);

  it('does not run statements in its names', async () => {
    const program = `to program 'touch ${owned}'`;
    const columns = ['id', 'slug', 'name', 'created_at'];
    await expectRefused(
      withTable({ name: `app" (id) ${program} --` }),
      /tables\[\d+\]\.name is "app\\" \(id\)/,
    );
    await expectRefused(withTable({ schema: `public"; copy app ${program};` }), /tables\[\d+\]\.schema is /);
    await expectRefused(
      withTable({ columns: [...columns, `id") ${program} --`] }),
      /column "id\\"\) to .* of table public\.app, which has no such column/,
    );
    await expectRefused(
      withManifest(({ sequences }) =>
        sequences.push({ schema: 'public', name: `x'); copy app ${program}`, lastValue: '1' }),
      ),
      /has sequence "public\.x'\); copy app .* not a sequence of the hub/,
    );
    await expectRefused(
      withManifest(({ sequences }) =>
        Object.assign(sequences[0] ?? {}, { lastValue: `1); copy app ${program}` }),
      ),
      /sequences\[0\]\.lastValue is "1\); copy/,
    );
    await expectRefused(withTable({ months: [`2026-01-01'); copy`] }), /months\[0\] is /);
  });

  it('fills only tables of the hub, and none whose rows the job queue executes', async () => {
    for (const [schema, name] of [
      ['pg_catalog', 'pg_authid'],
      ['job', 'bam'], // it has statements
      ['job', 'queue'], // it has names that become part of statements
      ['public', 'callback_default'],
    ]) {
      const added = { schema, name, columns: ['id'], months: [] };
      await expectRefused(
        withManifest(({ tables }) => tables.push(added)),
        new RegExp(`table "${schema}\\.${name}", which is not a table of the hub`),
      );
    }
    await expectRefused(
      withTable({ months: ['2026-01'] }),
      /months of table public\.app, which is not partitioned/,
    );
  });

  it('with a wrong manifest is refused with the reason', async () => {
    const answers: [string, RegExp][] = [
      ['null', /^the manifest of the backup is null, not an object$/],
      ['7', /is 7, not an object/],
      ['[]', /is \[\], not an object/],
      ['"x"', /is "x", not an object/],
      ['{', /^manifest\.json of the backup is not JSON$/],
      ['['.repeat(500_000), /not JSON/],
      ['{}', /format is missing, not 2/],
      ['{"format":1}', /has format 1, and this hubctl reads format 2/],
      ['{"format":3}', /has format 3/],
      ['{"format":"2"}', /format is "2", not 2/],
    ];
    for (const [text, message] of answers) await expectRefused(replace('manifest.json', text), message);
    const members: [Fields, RegExp][] = [
      [{ tables: null }, /tables is null/],
      [{ tables: {} }, /tables is \{\}/],
      [{ tables: [null] }, /tables\[0\] of the backup is null, not an object/],
      [{ tables: [{}] }, /tables\[0\]\.\w+ is missing/],
      [{ tables: Array(10_000).fill(0) }, /tables has 10000 members, more than 2000/],
      [{ sequences: 'x' }, /sequences is "x"/],
      [{ migrations: [] }, /migrations is \[\]/],
      [{ migrations: [1] }, /migrations\[0\] is 1/],
      [{ createdAt: 'x'.repeat(500_000) }, /createdAt is "x+…/],
      [{ hubVersion: '\u001b[2J' }, /hubVersion is /],
      [{ jobSchemaVersion: -1 }, /jobSchemaVersion is -1/],
      [{ masterKeyIds: ['0123456789abcdef'] }, /manifest\.json lists \["0123456789abcdef"\]/],
    ];
    for (const [change, message] of members) {
      await expectRefused(
        withManifest((whole) => Object.assign(whole, change)),
        message,
      );
    }
    await expectRefused(
      withManifest(({ migrations }) => (migrations as string[]).splice(3, 1)),
      /manifest and the database disagree on the migrations: only one of them has /,
      await createDatabase(),
    );
    const huge = { name: 'manifest.json', content: Buffer.from('{'), header: { size: 2 ** 30 } };
    await expectRefused(
      [huge, ...honest.slice(1)],
      /manifest\.json of the backup has 1073741824 bytes, more than 1048576/,
    );
  });

  it('with repeated or missing tables or columns is refused', async () => {
    await expectRefused(
      withManifest(({ tables }) => tables.push(tables[0] ?? {})),
      /tables has "\w+\.\w+" twice/,
    );
    await expectRefused(withTable({ columns: ['id', 'id'] }), /columns has "id" twice/);
    await expectRefused(withTable({ columns: [] }), /columns is \[\]/);
    await expectRefused(
      withManifest(({ tables }) =>
        tables.splice(
          tables.findIndex(({ name }) => name === 'license'),
          1,
        ),
      ),
      /the backup has no rows of table public\.license: it is incomplete/,
    );
  });

  it('with reordered, renamed or endless files is refused', async () => {
    const app = indexOf('data/public.app.copy');
    const empty = Buffer.alloc(0);
    for (const name of [
      '../../../etc/cron.d/hub',
      '/etc/passwd',
      'data/../../x',
      'master.key',
      'data/public.seat.copy',
    ]) {
      await expectRefused(
        insert(app, { name, content: empty }),
        /where the file data\/public\.app\.copy or .* belongs/,
      );
    }
    const link = { name: 'data/public.app.copy', content: empty, header: { type: '2' } };
    await expectRefused(insert(app, link), /has the symlink "data\/public\.app\.copy"/);
    await expectRefused(
      [...honest, { name: 'data/more.copy', content: empty }],
      /has the file "data\/more\.copy" after its last one/,
    );
    await expectRefused(honest.slice(0, -1), /ends where totals\.json belongs/);
    await expectRefused(honest.slice(0, app), /ends where data\/public\.app\.copy or/);
    const parts = Array.from({ length: 3_000 }, (_, index) => ({
      name: `data/public.app.copy.${String(index + 1).padStart(5, '0')}`,
      content: empty,
    }));
    await expectRefused([...honest.slice(0, app), ...parts], /ends where data\//);
    const twice = { name: 'data/public.app.copy.00001', content: empty };
    await expectRefused(
      [...honest.slice(0, app), twice, twice],
      /has the file "data\/public\.app\.copy\.00001" where/,
    );
    const endless = {
      name: 'data/public.app.copy',
      content: file('data/public.app.copy'),
      header: { size: 8 ** 11 - 1 },
    };
    await expectRefused([...honest.slice(0, app), endless], /^the archive in the backup is incomplete/);
  });

  it('with wrong row counts is refused, by verify too where no server is needed', async () => {
    const totals = (rows: unknown) => replace('totals.json', JSON.stringify({ rows }));
    const { rows } = JSON.parse(file('totals.json').toString()) as { rows: number[] };
    const app = manifest().tables.findIndex(({ name }) => name === 'app');
    const miscounts: [BackupEntry[], RegExp][] = [
      [totals(rows.with(app, 2)), /has 1 rows of table "public\.app", and its totals\.json says 2/],
      [totals(rows.slice(1)), /not a count for each of \d+ tables/],
      [totals(rows.with(app, -1)), /not a count/],
      [totals(rows.with(app, 1e300)), /not a count/],
      [totals(null), /rows is null, not a count/],
      [replace('data/public.audit_entry.copy', ''), /has 0 rows of table "public\.audit_entry"/],
    ];
    for (const [entries, message] of miscounts) {
      await expectRefused(entries, message);
      const path = join(directory, 'hostile.age');
      const refused = await verifyBackup(createReadStream(path), PASSPHRASE).catch(
        (error: Error) => error.message,
      );
      expect(refused).to.match(message);
    }
    const line = file('data/public.app.copy').toString();
    await expectRefused(
      replace('data/public.app.copy', `\\.\n${line}`),
      /lines of table public\.app, and the server read 0 rows|the rows of table public\.app cannot be restored: /,
    );
    await expectRefused(
      replace('data/public.app.copy', 'x\n'),
      /the rows of table public\.app cannot be restored: /,
    );
  });

  it('with an impossible position of a sequence is refused', async () => {
    await expectRefused(
      withManifest(({ sequences }) =>
        Object.assign(sequences[0] ?? {}, { lastValue: '9223372036854775807' }),
      ),
      /the sequence public\.\w+ cannot be set: /,
    );
  });

  it('with excessive requirements in its header is refused before any work', async () => {
    const path = join(directory, 'header.age');
    const refusal = () =>
      verifyBackup(createReadStream(path), PASSPHRASE).catch((error: Error) => error.message);
    const salt = Buffer.alloc(16).toString('base64').replaceAll('=', '');
    const mac = Buffer.alloc(32).toString('base64').replaceAll('=', '');
    await writeFile(
      path,
      `age-encryption.org/v1\n-> scrypt ${salt} 20\n${mac}\n--- ${mac}\n${'x'.repeat(64)}`,
    );
    expect(await refusal()).to.match(/work factor 20, and a backup has 18/);
    await writeFile(path, `age-encryption.org/v1\n${`-> x y\n\n`.repeat(400_000)}`);
    expect(await refusal()).to.match(/^the file is not a backup/);
  });

  it('is restored if unaltered', async () => {
    const url = await createDatabase();
    await restore(honest, url);
    expect(await query(url, 'select from app')).to.have.length(1);
  });
});
