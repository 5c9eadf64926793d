// Brings the schema up to date. Hubs that start together take turns under a lock.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from 'pg';
import type { Database } from './database.ts';
import { takeBootstrapLock } from './hub-lock.ts';

export type MigrationStatus = { applied: { name: string; at: Date }[]; pending: string[] };

export type MigrateOptions = {
  /** The last one to apply; without it, the last there is. */
  readonly to?: string;
  /** Adds to the transaction what is to be noted of it, with the last one before (if any) and now. */
  readonly record?: (em: EntityManager, before: string | undefined, after: string) => Promise<void>;
};

/**
 * Applies what is pending, in one transaction, and returns the names, in order. Refuses nothing: with nothing pending
 * it does nothing.
 */
export async function migrateUp(db: Database, { to, record }: MigrateOptions = {}): Promise<string[]> {
  using _ = withoutReadTimeout(db.pool);
  return await db.em().transactional(async (em) => {
    const connection = em.getConnection();
    const transaction = em.getTransactionContext();
    const run = async (statement: string) => ({
      rows: await connection.execute(statement, [], 'all', transaction),
    });
    // Waiting for another hub's migration may take longer than a statement of ours should.
    await run('set local statement_timeout = 0');
    await takeBootstrapLock(run, 'schema');
    const before = (await migrationStatus(db)).applied.at(-1)?.name;
    const applied = await db.orm.migrator.up({ ...(to && { to }), ...(transaction && { transaction }) });
    await markCompatible(
      applied.map(({ name }) => name),
      run,
    );
    const last = applied.at(-1);
    if (last) await record?.(em, before, last.name);
    return applied.map((migration) => migration.name);
  });
}

/** Notes of migrations that hubs which do not know them may go on. */
async function markCompatible(
  names: readonly string[],
  run: (statement: string) => Promise<unknown>,
): Promise<void> {
  const compatible: string[] = [];
  for (const name of names) if (await isCompatible(name)) compatible.push(name);
  if (compatible.length === 0) return;
  const list = compatible.map((name) => `'${name}'`).join(', '); // names of files: word characters only
  // Before its own migration there is no such column.
  await run(`do $$ begin
    if exists (select from pg_attribute
               where attrelid = 'hub_migration'::regclass and attname = 'is_compatible') then
      update hub_migration set is_compatible = true where name in (${list});
    end if;
  end $$`);
}

/** Whether hubs that do not know the migration may serve on its schema. */
export async function isCompatible(name: string): Promise<boolean> {
  const extension = import.meta.filename.slice(-2); // .ts in a checkout, .js in a package
  const module: Record<string, unknown> = await import(`./migrations/${name}.${extension}`);
  const migration = module[name];
  return typeof migration === 'function' && 'isCompatible' in migration && migration.isCompatible === true;
}

/**
 * The driver gives up on an answer after a while, whatever the server's own time-outs are: connections that are taken from
 * the pool meanwhile wait for as long as it takes.
 */
function withoutReadTimeout(pool: Pool): Disposable {
  const taken = new Set<{ query_timeout: number }>();
  const patient = (client: PoolClient): void => {
    // Missing from the types.
    const { connectionParameters } = client as unknown as { connectionParameters: { query_timeout: number } };
    connectionParameters.query_timeout = 0;
    taken.add(connectionParameters);
  };
  pool.on('acquire', patient);
  return {
    [Symbol.dispose]() {
      pool.off('acquire', patient);
      for (const parameters of taken) parameters.query_timeout = pool.options.query_timeout ?? 0;
    },
  };
}

/** What the database has of the migrations of this version. Only reads: asking the ORM would make its table. */
export async function migrationStatus({ pool }: Database): Promise<MigrationStatus> {
  const known = await knownMigrations();
  const { rows } = await pool.query<{ there: boolean }>(
    `select to_regclass('hub_migration') is not null as there`,
  );
  if (!rows[0]?.there) return { applied: [], pending: known };
  // As a number: on the ORM's pool a timestamp is text.
  const { rows: done } = await pool.query<{ name: string; ms: number }>(
    'select name, (extract(epoch from executed_at) * 1000)::float8 as ms from hub_migration order by id',
  );
  const names = new Set(done.map(({ name }) => name));
  return {
    applied: done.map(({ name, ms }) => ({ name, at: new Date(ms) })),
    pending: known.filter((name) => !names.has(name)),
  };
}

/** Migrations are named after their files, which are TypeScript in a checkout and JavaScript in a package. */
export async function knownMigrations(): Promise<string[]> {
  const files = await readdir(join(import.meta.dirname, 'migrations'));
  return files.flatMap((file) => /^(Migration\d+_\w+)\.[jt]s$/.exec(file)?.[1] ?? []).sort();
}
