// A schema that a newer hub has migrated: an older hub refuses it, unless every migration it misses is compatible.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Database } from './database.ts';
import { knownMigrations } from './migrate.ts';

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

/** Whether this hub still fits the schema: a newer one may migrate it meanwhile. Logs it once if not; never throws. */
export function createSchemaWatch({ pool, hubVersion, logger }: SchemaWatchOptions): () => Promise<boolean> {
  let reported: string | undefined;
  return async () => {
    // Whether the database answers at all is another question.
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
  const { rows: tables } = await pool.query<{ there: boolean }>(
    `select to_regclass('hub_migration') is not null as there`,
  );
  if (!tables[0]?.there) return undefined;
  // As JSON: a schema from before the mark has no such column.
  const { rows } = await pool.query<{ name: string }>(
    `select name from hub_migration m
     where name <> all ($1::text[]) and (to_jsonb(m) ->> 'is_compatible')::boolean is not true order by id limit 1`,
    [await knownMigrations()],
  );
  return rows[0]?.name;
}
