// Where master keys come from, and that one database knows one ring.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Pool } from 'pg';
import { Secret } from '../../../../core/secret.ts';
import { openDataDir } from '../../../../core/storage/data-dir.ts';
import { type MasterKey, readMasterKeys } from '../../../../core/storage/secrets/key-ring-file.ts';
import { claimDatabase, loadKeyRing } from '../../../../core/storage/secrets/load-key-ring.ts';
import { createDatabase } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const freshKey = (): string => randomBytes(32).toString('base64');
const ids = (keys: readonly MasterKey[]): string[] => keys.map((key) => key.id);
const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing was thrown',
    (error: Error) => error.message,
  );

describe('the key ring', () => {
  let path: string;
  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'hub-test-'));
  });
  afterEach(() => rm(path, { recursive: true, force: true }));

  it('is created at the first start and reused at the next', async () => {
    const dataDir = await openDataDir(path);
    const first = await loadKeyRing({}, dataDir);
    const next = await loadKeyRing({}, dataDir);
    expect(first.createdFile).to.equal(join(path, 'master.key'));
    expect((await stat(dataDir.masterKeyFile)).mode & 0o777).to.equal(0o600);
    expect(next.createdFile).to.equal(undefined);
    expect(ids(next.keys)).to.deep.equal(ids(first.keys));
  });

  it('is created once by hubs that start at the same time', async () => {
    const dataDir = await openDataDir(path);
    const rings = await Promise.all(Array.from({ length: 8 }, () => loadKeyRing({}, dataDir)));
    expect(new Set(rings.flatMap(({ keys }) => ids(keys))).size).to.equal(1);
    expect(rings.filter(({ createdFile }) => createdFile)).to.have.length(1);
    expect(await readdir(path)).to.deep.equal(['master.key']);
  });

  it('is read from the configuration, and then not created', async () => {
    const dataDir = await openDataDir(join(path, 'data'));
    const key = freshKey();
    const file = join(path, 'keys');
    await writeFile(file, `# ours\n${key}\n${freshKey()}\n`, { mode: 0o600 });
    const [text, fromFile] = await Promise.all([
      loadKeyRing({ text: new Secret(key) }, dataDir),
      loadKeyRing({ file }, dataDir),
    ]);
    expect(ids(text.keys)).to.deep.equal(ids(readMasterKeys(key)));
    expect(ids(fromFile.keys)).to.have.length(2).and.include(text.keys[0]?.id);
    expect(await readdir(dataDir.path)).to.deep.equal([]);
  });

  it('names a file that is missing, readable by others or damaged, and never prints its contents', async () => {
    const dataDir = await openDataDir(path);
    const file = join(path, 'keys');
    expect(await messageOf(loadKeyRing({ file }, dataDir))).to.equal(
      `there is no master key file ${file}: correct HUB_MASTER_KEY_FILE`,
    );
    await loadKeyRing({}, dataDir);
    await chmod(dataDir.masterKeyFile, 0o644);
    expect(await messageOf(loadKeyRing({}, dataDir))).to.match(
      /master\.key is open to other users.*chmod 600/,
    );
    const whole = await readFile(dataDir.masterKeyFile, 'utf8');
    await rm(dataDir.masterKeyFile);
    await writeFile(dataDir.masterKeyFile, whole.slice(0, -10), { mode: 0o600 });
    const message = await messageOf(loadKeyRing({}, dataDir));
    expect(message).to.match(/master\.key, line 2: not a key/);
    expect(message).not.to.contain(whole.split('\n')[1]?.slice(0, 20));
  });

  describe('of a database', () => {
    let pool: Pool;
    const clock = () => new Date(0);
    beforeEach(async () => {
      pool = new Pool({ connectionString: await createDatabase() });
      await pool.query('create table master_key_use (key_id text primary key, since timestamptz not null)');
    });
    afterEach(() => pool.end());

    it('is recorded by the first hub and required of every later one', async () => {
      const [ours = '', others = ''] = [freshKey(), freshKey()];
      await claimDatabase(pool, readMasterKeys(ours), clock);
      await claimDatabase(pool, readMasterKeys(`${others}\n${ours}`), clock);
      // From then on secrets may be sealed with the new key, which a hub with only the old one could not
      // open.
      expect(await messageOf(claimDatabase(pool, readMasterKeys(ours), clock))).to.contain(
        'encrypted with master key',
      );
      const message = await messageOf(claimDatabase(pool, readMasterKeys(others), clock));
      expect(message)
        .to.contain(
          `master key ${readMasterKeys(ours)[0]?.id}, and this hub has ${readMasterKeys(others)[0]?.id}`,
        )
        .and.contain('HUB_MASTER_KEY_FILE');
      expect(message).not.to.contain(ours).and.not.contain(others);
    });

    it('is that of the first hub, even for a hub that starts at the same time', async () => {
      const [ours, others] = [readMasterKeys(freshKey()), readMasterKeys(freshKey())];
      const first = await pool.connect();
      await first.query('begin');
      await first.query('insert into master_key_use values ($1, now())', [ours[0]?.id]);
      const second = messageOf(claimDatabase(pool, others, clock));
      await until(async () => {
        const { rows } = await pool.query(
          `select from pg_locks where not granted and relation = 'master_key_use'::regclass
           and database = (select oid from pg_database where datname = current_database())`,
        );
        return rows.length === 1;
      }, 'the second hub waits for the first');
      await first.query('commit');
      first.release();
      expect(await second).to.contain(`encrypted with master key ${ours[0]?.id}`);
      expect(await noted()).to.deep.equal(ids(ours));
    });

    it('is that of one hub when several hubs with different keys start first', async () => {
      const rings = Array.from({ length: 6 }, () => readMasterKeys(freshKey()));
      const outcomes = await Promise.allSettled(rings.map((keys) => claimDatabase(pool, keys, clock)));
      const accepted = rings.filter((_, index) => outcomes[index]?.status === 'fulfilled').flatMap(ids);
      expect(accepted).to.have.length(1);
      expect(await noted()).to.deep.equal(accepted);
    });

    const noted = async (): Promise<string[]> => {
      const { rows } = await pool.query('select key_id as id from master_key_use');
      return rows.map((row) => row.id);
    };
  });
});
