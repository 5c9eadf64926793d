// Migrations: applied once by concurrent callers, listed without side effects, and equal to the schema of the
// entities.
import { readdir } from 'node:fs/promises';
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { openHubDatabase } from '../../../../core/hub/database.ts';
import type { Database } from '../../../../core/storage/database.ts';
import { LockHeld } from '../../../../core/storage/hub-lock.ts';
import { migrateUp, migrationStatus } from '../../../../core/storage/schema/migrate.ts';
import { MIGRATIONS } from '../../../../core/storage/schema/migrations.ts';
import { createDatabase, query } from '../../../support/postgres/databases.ts';

const open = (url: string): Promise<Database> => openHubDatabase({ url }, 10, pino({ level: 'silent' }));

describe('migrations', () => {
  let url: string;
  let databases: Database[];
  beforeEach(async () => {
    url = await createDatabase();
    databases = await Promise.all([open(url), open(url)]);
  });
  afterEach(() => Promise.all(databases.map((db) => db.close())));

  const tables = () => query(url, `select relname from pg_class where relnamespace = 'public'::regnamespace`);

  it('are listed as pending on an empty database, which stays empty', async () => {
    const [db] = databases as [Database, Database]; // opened before each test
    const { applied, pending } = await migrationStatus(db);
    expect(applied).to.deep.equal([]);
    expect(pending).to.have.length.above(0);
    expect(pending).to.deep.equal([...pending].sort());
    expect(await tables()).to.deep.equal([]);
  });

  it('are all listed, by the names of their files and classes', async () => {
    const files = await readdir(new URL('../../../../core/storage/schema/migrations/', import.meta.url));
    expect(Object.keys(MIGRATIONS)).to.deep.equal(files.map((name) => name.replace('.ts', '')).sort());
    for (const [name, load] of Object.entries(MIGRATIONS)) expect((await load()).name).to.equal(name);
  });

  it('are applied once, by concurrent callers too', async () => {
    const [one, two] = databases as [Database, Database];
    const { pending } = await migrationStatus(one);
    const asked = Array.from({ length: 8 }, (_, index) => migrateUp(index % 2 ? one : two));
    const applied = (await Promise.all(asked)).filter((names) => names.length > 0);
    expect(applied).to.deep.equal([pending]);
    const rows = await query<{ name: string }>(url, 'select name from hub_migration order by id');
    expect(rows.map(({ name }) => name)).to.deep.equal(pending);
  });

  it('are listed with their time, and not applied again', async () => {
    const [one, two] = databases as [Database, Database];
    const names = await migrateUp(one);
    const { applied, pending } = await migrationStatus(two);
    expect(pending).to.deep.equal([]);
    expect(applied.map(({ name }) => name)).to.deep.equal(names);
    const [{ now } = { now: new Date(0) }] = await query<{ now: Date }>(url, 'select now() as now');
    for (const { at } of applied) expect(now.getTime() - at.getTime()).to.be.within(0, 60_000);
    expect(await migrateUp(two)).to.deep.equal([]);
  });

  it('create exactly the schema of the entities', async () => {
    const [db] = databases as [Database, Database];
    await migrateUp(db);
    const difference = await db.orm.schema.getUpdateSchemaSQL({ wrap: false });
    // Triggers and functions are nothing the entities know.
    const own =
      /^drop (trigger|function) if exists "(allocate|audit|license|make|partition|months|seat|search|metadata)_.*;\n*/gm;
    expect(difference.replace(own, '')).to.equal('');
  });

  it('run without a time limit', async () => {
    const [db] = databases as [Database, Database];
    // The driver would give up after a millisecond.
    const hurried = (client: unknown): void => {
      (client as { queryTimeoutMs: number }).queryTimeoutMs = 1;
    };
    db.pool.on('acquire', hurried);
    const sleeping = () =>
      db.pool.query('select pg_sleep(0.2)').then(
        () => 'answered',
        (error: Error) => error.message,
      );
    expect(await sleeping()).to.equal('Query read timeout');
    expect(await migrateUp(db)).to.have.length.above(0);
    expect(await sleeping()).to.equal('Query read timeout');
  });

  describe('while another transaction uses a table that they change', () => {
    const names = Object.keys(MIGRATIONS);
    let other: pg.Client;
    beforeEach(async () => {
      const [db] = databases as [Database, Database];
      await migrateUp(db, { to: names.at(-2) ?? '' });
      other = new pg.Client(url);
      await other.connect();
      await other.query('begin');
      // Like a write. The last migration refers to this table, which waits for the end of its writes.
      await other.query('lock table app in row exclusive mode');
    });
    afterEach(() => other.end());

    it('delay other clients by less than a second at a time, and are applied after it', async () => {
      const [db] = databases as [Database, Database];
      let isApplied = false;
      const migrated = migrateUp(db).finally(() => {
        isApplied = true;
      });
      const delays: number[] = [];
      for (const begun = performance.now(); performance.now() - begun < 3_500; ) {
        const since = performance.now();
        await query(url, 'update app set name = name'); // waits behind the migration, if that waits
        delays.push(performance.now() - since);
      }
      expect(isApplied).to.equal(false);
      expect(Math.max(...delays)).to.be.within(300, 2_000);
      await other.query('commit');
      expect(await migrated).to.deep.equal(names.slice(-1));
    });

    it('fail in the end, and say how to find it', async () => {
      const [db] = databases as [Database, Database];
      const failed = await migrateUp(db, { retryForMs: 0 }).catch((error: Error) => error);
      expect(failed).to.be.instanceOf(LockHeld);
      expect(String(failed)).to.include('another transaction uses a table').and.include('pg_stat_activity');
      const { pending } = await migrationStatus(db);
      expect(pending).to.deep.equal(names.slice(-1));
    });
  });

  it('release their lock when one fails', async () => {
    const [one, two] = databases as [Database, Database];
    await query(url, 'create table app (in_the_way int)');
    const failed = await migrateUp(one).catch((error) => error);
    expect(failed).to.be.instanceOf(Error);
    await query(url, 'drop table app');
    expect(await migrateUp(two)).to.have.length.above(0);
  });
});
