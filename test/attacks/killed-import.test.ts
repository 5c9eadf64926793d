// A hub that is killed during an import has imported all lines of the file or none, and a repeat completes it.
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { ended, start } from '../cli/spawn-hubctl.ts';
import { discard, makeDataDir } from '../support/hub/data-dir.ts';
import { transportTo } from '../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../support/hub/hub-process.ts';
import { createApp } from '../support/hub/license.ts';
import { activate } from '../support/network/rest.ts';
import { createMigratedDatabase, query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const LINES = 1_500;
/** More than the hub lists. */
const ERRORS = 1_000;

describe('an import by a hub that is killed', () => {
  let dataDir: string;
  let databaseUrl: string;
  let hub: HubProcess;
  let token: string;
  let app: string;
  let file: string;

  const startAgain = async () => {
    hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl });
  };
  const admin = () => createClient(LicenseAdminService, transportTo(hub.rpcUrl, token));
  before(async () => {
    dataDir = await makeDataDir();
    databaseUrl = await createMigratedDatabase();
    await startAgain();
    token = (await (await openDataDir(dataDir)).readAdminToken()) ?? '';
  });
  after(async () => {
    await hub.stop();
    await discard(dataDir);
  });
  beforeEach(async () => {
    app = await createApp(admin());
    file = join(dataDir, `${app}.csv`);
    const lines = Array.from({ length: LINES }, (_, nth) => [keyOf(nth), emailOf(nth)].join());
    await writeFile(file, ['licenseKey,email', ...lines].join('\n'));
  });

  const keyOf = (nth: number): string => `KILLED-${app}-${nth}`.toUpperCase();
  const emailOf = (nth: number): string => `c${nth}@${app}.example`;
  const startImport = () =>
    start(['key', 'import', '--app', app, file, '--output', 'json'], {
      HUBCTL_SERVER: hub.rpcUrl,
      HUBCTL_TOKEN: token,
    });
  const kill = async () => {
    hub.child.kill('SIGKILL');
    await once(hub.child, 'exit');
  };
  const stored = async () => {
    const [row] = await query<{ licenses: number; customers: number; entries: number }>(
      databaseUrl,
      `select (select count(*)::int from license l join app a on a.id = l.app_id where a.slug = $1) as licenses,
              (select count(*)::int from customer where email like '%@' || $1 || '.example') as customers,
              (select count(*)::int from audit_entry
               where action = 'license.import' and detail->>'slug' = $1) as entries`,
      [app],
    );
    return row;
  };
  const ALL = { licenses: LINES, customers: LINES, entries: 1 };
  const NONE = { licenses: 0, customers: 0, entries: 0 };
  const isStored = async (count: number) => (await stored())?.licenses === count;

  /** Of a file with licenses that are all there. */
  const expectRefusal = async () => {
    const { code, stdout, stderr } = await ended(startImport());
    expect(code, stderr).to.equal(1);
    expect(JSON.parse(stdout).errors).to.have.length(ERRORS);
    expect(await stored()).to.deep.equal(ALL);
  };
  const expectCompletion = async () => {
    expect(await stored()).to.deep.equal(NONE);
    await startAgain();
    const { code, stdout, stderr } = await ended(startImport());
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.deep.equal({ imported: LINES, customersCreated: LINES, errors: [] });
    expect(await stored()).to.deep.equal(ALL);
    await expectRefusal();
    expect((await activate(hub.gatewayUrl, keyOf(LINES - 1), 'machine')).status).to.equal(200);
  };

  it('between two lines has imported none', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    async function* messages() {
      const licenses = Array.from({ length: 500 }, (_, nth) => ({
        licenseKey: keyOf(nth),
        customerEmail: emailOf(nth),
      }));
      yield { app, licenses };
      await never;
    }
    const importing = admin()
      .importLicenses(messages())
      .catch(() => 'it failed');
    const inserted = `select from pg_stat_activity where datname = current_database()
                      and state = 'idle in transaction' and query like 'insert into event_outbox%'`;
    await until(async () => (await query(databaseUrl, inserted)).length > 0, 'the first lines are inserted');
    await kill();
    expect(await importing).to.equal('it failed');
    await expectCompletion();
  });

  it('before its commit has imported none', async () => {
    const holder = new pg.Client({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query('begin; lock table audit_entry in exclusive mode');
    const end = ended(startImport());
    const waits = `select from pg_locks where not granted and relation = 'audit_entry'::regclass`;
    await until(async () => (await query(databaseUrl, waits)).length > 0, 'all lines are inserted');
    await kill();
    await holder.end();
    expect((await end).code).to.not.equal(0);
    // PostgreSQL notices when the lock is free.
    const open = `select from pg_stat_activity where datname = current_database() and xact_start is not null
                  and pid <> pg_backend_pid()`;
    await until(async () => (await query(databaseUrl, open)).length === 0, 'the import is rolled back');
    await expectCompletion();
  });

  it('after its commit has imported all, and a repeat imports none twice', async () => {
    const end = ended(startImport());
    await until(() => isStored(LINES), 'the import is committed');
    await kill();
    await end;
    expect(await stored()).to.deep.equal(ALL);
    await startAgain();
    await expectRefusal();
  });
});
