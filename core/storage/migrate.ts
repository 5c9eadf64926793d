// Brings the schema up to date. Hubs that start together take turns under an advisory lock.
import type { Database } from './database.ts';

// Any constant will do, as long as nothing else in the database uses it.
const MIGRATION_LOCK = 4_715_099;

export type MigrationStatus = { applied: { name: string; at: Date }[]; pending: string[] };

/** Applies what is pending and returns the names, in order. Refuses nothing: with nothing pending it does nothing. */
export async function migrateUp(db: Database): Promise<string[]> {
  const client = await db.pool.connect();
  try {
    // Waiting for another hub's migration may take longer than a statement of ours should.
    await client.query('set statement_timeout = 0');
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await db.orm.migrator.up();
    return applied.map((migration) => migration.name);
  } finally {
    // Ends the session, and with it the lock, whatever state the connection is in.
    client.release(true);
  }
}

export async function migrationStatus(db: Database): Promise<MigrationStatus> {
  const [applied, pending] = [await db.orm.migrator.getExecuted(), await db.orm.migrator.getPending()];
  return {
    applied: applied.map((row) => ({ name: row.name, at: row.executed_at })),
    pending: pending.map((migration) => migration.name),
  };
}
