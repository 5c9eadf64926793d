// Refuses a schema that a newer hub has migrated, unless every unknown migration is marked as compatible.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Database } from '../database.ts';
import { hasMigrations, knownMigrations } from './migrate.ts';

/** @throws Error that names the migration, if the schema is newer than this hub and not compatible with it */
export async function requireKnownSchema(
  { pool }: Pick<Database, 'pool'>,
  hubVersion: string,
): Promise<void> {
  const name = await findIncompatible(pool);
  if (name !== undefined) throw new Error(newerSchema(name, hubVersion));
}

function newerSchema(name: string, hubVersion: string): string {
  return (
    `the schema of the database is newer than this hub (${hubVersion}): the migration ${name} is unknown. ` +
    'Start the newer hub, or restore a backup that this version made into an empty database'
  );
}

export type SchemaWatchOptions = {
  readonly pool: Pool;
  readonly hubVersion: string;
  readonly logger: Logger;
};

/** Returns a check whether a newer hub has migrated the schema incompatibly. Logs it once; never throws. */
export function createSchemaWatch({ pool, hubVersion, logger }: SchemaWatchOptions): () => Promise<boolean> {
  let reported: string | undefined;
  return async () => {
    // An unavailable database is reported elsewhere.
    const migration = await findIncompatible(pool).catch(() => undefined);
    if (migration !== undefined && migration !== reported) {
      logger.error({ migration }, newerSchema(migration, hubVersion));
      reported = migration;
    }
    return migration === undefined;
  };
}

/** The first migration that this hub does not know and that is not compatible with older hubs. */
export async function findIncompatible(pool: Pool): Promise<string | undefined> {
  if (!(await hasMigrations(pool))) return undefined;
  const { rows } = await pool.query<{ name: string }>(
    `select name from hub_migration
     where name <> all ($1::text[]) and not is_compatible order by id limit 1`,
    [knownMigrations()],
  );
  return rows[0]?.name;
}
