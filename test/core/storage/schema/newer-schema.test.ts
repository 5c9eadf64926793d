// An older hub on a schema that a newer one has migrated: it refuses, unless the migrations are marked as compatible.
import { expect } from 'chai';
import type { DestinationStream } from 'pino';
import { hubctlHere } from '../../../cli/run-here.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('a hub on a newer schema', () => {
  let logged = '';
  const log: DestinationStream = {
    write(text) {
      logged += text;
    },
  };
  let hub: TestHub;
  let env: Record<string, string>;
  before(async () => {
    hub = await startHub({ log });
    env = { DATABASE_URL: hub.databaseUrl, HUB_DATA_DIR: hub.dataDir };
  });
  after(() => hub?.stop());
  afterEach(() => query(hub.databaseUrl, `delete from hub_migration where name like '%_invented'`));

  const apply = (name: string, isCompatible: boolean) =>
    query(hub.databaseUrl, 'insert into hub_migration (name, is_compatible) values ($1, $2)', [
      `Migration20991231${name}_invented`,
      isCompatible,
    ]);
  const ready = async (): Promise<number> => (await fetch(`${hub.gatewayUrl}/readyz`)).status;
  const startAnother = (): Promise<string> =>
    startHub({ beside: hub }).then(
      async (other) => {
        await other.stop();
        return 'it started';
      },
      (error: Error) => error.message,
    );

  it('refuses to start and to migrate, and names the migration, its version and a remedy', async () => {
    await apply('000000', true);
    await apply('000001', false);
    const message =
      /the schema of the database is newer than this hub \(\d+\.\d+\.\d+\S*\): the migration Migration20991231000001_invented is unknown\. Start the newer hub, or restore a backup/;
    expect(await startAnother()).to.match(message);
    const [migrated, examined] = await Promise.all([
      hubctlHere(['migration', 'apply'], env),
      hubctlHere(['doctor'], env),
    ]);
    expect(migrated).to.include({ code: 1, stdout: '' });
    expect(migrated.stderr).to.match(message);
    expect(examined.code).to.equal(1);
    expect(examined.stdout).to.match(/schema .*newer than this hub .* Migration20991231000001_invented/);
  });

  it('starts and migrates if all unknown migrations are marked as compatible', async () => {
    await apply('000000', true);
    await apply('000001', true);
    expect(await startAnother()).to.equal('it started');
    expect((await hubctlHere(['migration', 'apply'], env)).code).to.equal(0);
  });

  it('stays ready while it serves, or logs why it is not', async () => {
    await apply('000000', true);
    expect(await ready()).to.equal(200);
    logged = '';
    await apply('000001', false);
    await until(async () => (await ready()) === 503, 'the hub is not ready', 30_000);
    expect(logged).to.contain('the migration Migration20991231000001_invented is unknown');
    await query(hub.databaseUrl, `delete from hub_migration where name like '%_invented'`);
    await until(async () => (await ready()) === 200, 'the hub is ready again', 30_000);
  });

  it('reads the compatibility marks of migrations applied together or one by one', async () => {
    const rows = await query<{ name: string }>(
      hub.databaseUrl,
      'select name from hub_migration where is_compatible order by id',
    );
    expect(rows.map(({ name }) => name)).to.include('Migration20261125000001_partitions');
    expect(rows.map(({ name }) => name)).not.to.include('Migration20261125000006_payment');
  });
});
