// Applies the migrations of the schema. Hubs that start together take turns under a lock.
//
// A statement that changes a table waits until no other transaction uses the table, and all later requests
// wait behind it. So a migration waits for a table for less than a second, then rolls back and tries again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Migrator } from '@mikro-orm/migrations';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Database } from '../database.ts';
import { LockHeld, takeBootstrapLock } from '../hub-lock.ts';
import { epochMs } from '../sql/epoch.ts';
import { isLockFailure, type TimedClient } from '../sql/transaction.ts';
import { MIGRATIONS } from './migrations.ts';

export type MigrationStatus = { applied: { name: string; at: Date }[]; pending: string[] };

export type MigrateOptions = {
  /** Name of the last migration to apply. Default: all. */
  readonly to?: string;
  /** Runs in the same transaction with the names of the last migration before, if any, and after. */
  readonly record?: (em: EntityManager, before: string | undefined, after: string) => Promise<void>;
  /** How long to try again while other transactions use the tables, in milliseconds. Default: 5 minutes. */
  readonly retryForMs?: number;
};

/**
 * Below PostgreSQL's `deadlock_timeout`, one second by default: in a deadlock the migration rolls back, and
 * not the other transaction.
 */
const TABLE_LOCK_MS = 800;
const RETRY_FOR_MS = 5 * 60_000;
/** Between two attempts, so that the requests that waited are answered. */
const PAUSE_MS = 2_000;

type Run = (statement: string) => Promise<{ rows: { [column: string]: unknown }[] }>;

/**
 * Applies the pending migrations in one transaction and returns their names, in order.
 *
 * @throws LockHeld if other transactions use one of the tables for `retryForMs`
 */
export async function migrateUp(db: Database, options: MigrateOptions = {}): Promise<string[]> {
  using _ = withoutQueryTimeout(db.pool);
  const giveUpAt = performance.now() + (options.retryForMs ?? RETRY_FOR_MS);
  for (;;) {
    try {
      return await migrateOnce(db, options);
    } catch (error) {
      if (error instanceof LockHeld || !isLockFailure(error)) throw error;
      if (performance.now() + PAUSE_MS > giveUpAt) throw tableInUse(error);
      await sleep(PAUSE_MS);
    }
  }
}

function tableInUse(cause: unknown): LockHeld {
  return new LockHeld(
    'another transaction uses a table that a migration changes: end it, or wait for its end. To find it: ' +
      'select pid, usename, application_name, xact_start, query from pg_stat_activity ' +
      'where xact_start is not null order by xact_start',
    { cause },
  );
}

async function migrateOnce(db: Database, { to, record }: MigrateOptions): Promise<string[]> {
  return await db.em().transactional(async (em) => {
    const connection = em.getConnection();
    const transaction = em.getTransactionContext();
    const run: Run = async (statement) => ({
      rows: await connection.execute(statement, [], 'all', transaction),
    });
    // The migration of another hub can take longer than other statements may.
    await run('set local statement_timeout = 0');
    await takeBootstrapLock(run, 'schema');
    const { applied, pending } = await migrationStatus(db);
    const before = applied.at(-1)?.name;
    if (pending.length === 0) return [];
    await run(`set local lock_timeout = ${TABLE_LOCK_MS}`);
    const migrator = await createMigrator(db);
    const migrated = await migrator.up({ ...(to && { to }), ...(transaction && { transaction }) });
    const names = migrated.map(({ name }) => name);
    await markCompatible(names, run);
    const last = names.at(-1);
    if (last !== undefined) await record?.(em, before, last);
    return names;
  });
}

/** Loads the ORM's migrator, which takes several MB and is not needed by a hub whose schema is up to date. */
async function createMigrator({ orm }: Database): Promise<Migrator> {
  const { Migrator } = await import('@mikro-orm/migrations');
  const migrationsList = await Promise.all(
    Object.entries(MIGRATIONS).map(async ([name, load]) => ({ name, class: await load() })),
  );
  const options = { tableName: 'hub_migration', snapshot: false, disableForeignKeys: false, migrationsList };
  orm.config.set('migrations', { ...orm.config.get('migrations'), ...options });
  return new Migrator(orm.em);
}

/** Marks the compatible ones in hub_migration, where older hubs read it. */
async function markCompatible(names: readonly string[], run: Run): Promise<void> {
  for (const name of names) {
    // The name of a file: word characters only.
    if (await isCompatible(name)) {
      await run(`update hub_migration set is_compatible = true where name = '${name}'`);
    }
  }
}

/** Whether hubs that do not know the migration can serve on its schema. */
export async function isCompatible(name: string): Promise<boolean> {
  return (await MIGRATIONS[name]?.())?.isCompatible === true;
}

/**
 * Removes the limit of this process on the time of statements, on connections that are taken from the pool,
 * and restores it on disposal. It does not change time-outs of the server.
 */
function withoutQueryTimeout(pool: Pool): Disposable {
  const changed = new Set<TimedClient>();
  const lift = (client: PoolClient): void => {
    const timed = client as unknown as TimedClient; // see clientClass
    timed.queryTimeoutMs = 0;
    changed.add(timed);
  };
  pool.on('acquire', lift);
  return {
    [Symbol.dispose]() {
      pool.off('acquire', lift);
      for (const client of changed) client.queryTimeoutMs = pool.options.query_timeout ?? 0;
    },
  };
}

/** Which migrations of this version the database has. It only reads: the ORM would create its table. */
export async function migrationStatus({ pool }: Database): Promise<MigrationStatus> {
  const known = knownMigrations();
  if (!(await hasMigrations(pool))) return { applied: [], pending: known };
  // As a number: on the ORM's pool a timestamp is text.
  const { rows } = await pool.query<{ name: string; ms: number }>(
    `select name, ${epochMs('executed_at')} as ms from hub_migration order by id`,
  );
  const names = new Set(rows.map(({ name }) => name));
  return {
    applied: rows.map(({ name, ms }) => ({ name, at: new Date(ms) })),
    pending: known.filter((name) => !names.has(name)),
  };
}

export async function hasMigrations(db: Pool | ClientBase): Promise<boolean> {
  const { rows } = await db.query<{ exists: boolean }>(
    `select to_regclass('hub_migration') is not null as exists`,
  );
  return rows[0]?.exists === true;
}

/** The migrations of this version, in order. */
export function knownMigrations(): string[] {
  return Object.keys(MIGRATIONS);
}
