// A hub with exactly the privileges that docs/operations/requirements.md lists, for one role and for two.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { IS_LONG } from '../../support/long.ts';
import { createDatabase, createDatabaseOfTwoRoles, query } from '../../support/postgres/databases.ts';
import { hubctlHere } from '../run-here.ts';

type Roles = { readonly owner: string; readonly serving: string };

const LAYOUTS: Readonly<Record<string, () => Promise<Roles>>> = {
  'one role': async () => {
    const owner = await createDatabase();
    return { owner, serving: owner };
  },
  'two roles': createDatabaseOfTwoRoles,
};

describe('a hub without a superuser', function () {
  this.timeout(300_000); // it starts hubs and programs one after the other
  let directory: string;
  let passphraseFile: string;
  let running: HubProcess | undefined;

  beforeEach(async () => {
    directory = await makeDataDir();
    passphraseFile = join(directory, 'passphrase');
    await writeFile(passphraseFile, 'correct horse battery staple\n', { mode: 0o600 });
  });
  afterEach(async () => {
    await running?.stop();
    await discard(directory);
  });

  const run = async (env: Record<string, string>, ...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await hubctlHere(words, env);
    expect(code, `${words.join(' ')}: ${stderr}`).to.equal(0);
    return stdout;
  };
  /** Brings the schema up to date and lets hubs serve, as the page says. */
  const migrate = async ({ owner, serving }: Roles): Promise<void> => {
    if (serving === owner) return; // a hub does it when it starts
    await run({ DATABASE_URL: owner }, 'migration', 'apply', '--serving-role', new URL(serving).username);
  };
  /** Starts a hub; it must have nothing to complain of. */
  const serve = async (databaseUrl: string, dataDir: string): Promise<Record<string, string>> => {
    running = await spawnHub({ DATABASE_URL: databaseUrl, HUB_DATA_DIR: join(directory, dataDir) });
    const entries = running.lines.map((line) => JSON.parse(line));
    const complaints = entries.filter(
      ({ level, msg }) => level >= 40 && !msg.startsWith('created a master key'),
    );
    expect(complaints).to.deep.equal([]);
    // The month of now() has its partition.
    const [month] = await query<{ name: string | null }>(
      databaseUrl,
      `select to_regclass('audit_entry_' || to_char(now() at time zone 'UTC', 'YYYY_MM')) as name`,
    );
    expect(month?.name).to.match(/^audit_entry_/);
    return { HUB_DATA_DIR: join(directory, dataDir), DATABASE_URL: databaseUrl };
  };

  for (const [layout, makeRoles] of Object.entries(LAYOUTS)) {
    // Both run on the oldest PostgreSQL in CI; here the stricter one.
    if (layout === 'one role' && !IS_LONG && !process.env['HUB_TEST_POSTGRES_BIN']) continue;
    it(`creates partitions, prunes, is backed up, restored and verified: ${layout}`, async () => {
      const roles = await makeRoles();
      await migrate(roles);
      const env = await serve(roles.serving, 'hub');
      await query(roles.owner, `select make_month_partitions('audit_entry', '{2024-02-01}')`);
      const dropped = await run(
        env,
        'retention',
        'prune',
        '--before',
        '2024-03',
        '--yes',
        '--output',
        'json',
      );
      expect(JSON.parse(dropped)).to.have.length(1);
      const file = join(directory, 'hub.age');
      await run(env, 'backup', 'create', '--out', file, '--passphrase-file', passphraseFile);
      expect(await running?.stop()).to.equal(0);

      const target = await makeRoles();
      const targetEnv = { DATABASE_URL: target.owner, HUB_DATA_DIR: join(directory, 'restored') };
      await run(targetEnv, 'backup', 'restore', file, '--passphrase-file', passphraseFile);
      await migrate(target);
      const restored = await serve(target.serving, 'restored');
      expect(JSON.parse(await run(restored, 'audit', 'verify', '--output', 'json'))).to.include({ ok: true });
      const pruned = `select from audit_entry where action = 'retention.prune'`;
      expect(await query(target.owner, pruned)).to.have.length(1);
    });
  }
});
