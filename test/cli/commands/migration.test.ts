// hubctl migration: on a database that is given, and on the hub's own, running or not.
import { expect } from 'chai';
import { discard, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { spawnHub } from '../../support/hub/hub-process.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { expectPrinted } from '../expect-schema.ts';
import { hubctlHere } from '../run-here.ts';

type Row = { name: string; state: string; appliedAt?: string };

describe('hubctl migration', () => {
  const rows = async (words: string[], env: Record<string, string>): Promise<Row[]> => {
    const { code, stdout, stderr } = await hubctlHere(['migration', ...words, '--output', 'json'], env);
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    const [verb] = words;
    expectPrinted(`migration ${verb}`, JSON.parse(stdout));
    return JSON.parse(stdout);
  };

  it('migrates a given database, and reports it as text and as JSON', async () => {
    const env = { DATABASE_URL: await createDatabase() };
    const before = await rows(['list'], env);
    expect(before.map(({ state }) => state)).to.deep.equal(before.map(() => 'pending'));
    expect(await query(env.DATABASE_URL, `select from pg_tables where schemaname = 'public'`)).to.deep.equal(
      [],
    );

    const { code, stdout } = await hubctlHere(['migration', 'apply'], { DATABASE_URL: env.DATABASE_URL });
    expect(code).to.equal(0);
    for (const { name } of before) expect(stdout).to.match(new RegExp(`^${name} +applied`, 'm'));

    const [after, again] = await Promise.all([rows(['list'], env), hubctlHere(['migration', 'apply'], env)]);
    expect(after.map(({ name }) => name)).to.deep.equal(before.map(({ name }) => name));
    for (const { state, appliedAt } of after) {
      expect(state).to.equal('applied');
      expect(appliedAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
    }
    expect(again).to.deep.include({ code: 0, stdout: '', stderr: 'Nothing was pending.\n' });
  });

  it("works on the hub's own database before its first start and while it runs", async () => {
    const dataDir = await makeDataDir();
    try {
      const env = { HUB_DATA_DIR: dataDir };
      const applied = await rows(['apply'], env);
      expect(applied).to.have.length.above(0);
      expect(await postgresRuns(dataDir)).to.equal(false);

      const hub = await spawnHub(env);
      const listed = await rows(['list'], env);
      expect(listed.map(({ name }) => name)).to.deep.equal(applied.map(({ name }) => name));
      expect((await fetch(`${hub.gatewayUrl}/readyz`)).status).to.equal(200);
      expect(await hub.stop()).to.equal(0);
    } finally {
      await discard(dataDir);
    }
  });
});
