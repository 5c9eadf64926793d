// Creates the schema for the hub's tables, if it is missing and the role may create it.
import pg from 'pg';
import type { Database } from '../database.ts';

type SchemaState = {
  readonly exists: boolean;
  readonly isHub: boolean;
  readonly isHubInPublic: boolean;
  /** Whether the role may create tables in the schema. */
  readonly canCreateTables: boolean | null;
  /** Whether the role may create the schema. */
  readonly canCreateSchema: boolean;
  readonly role: string;
};

/**
 * @throws Error with the statement for an administrator if the role may not create the schema or tables in
 * it; Error if the search path leads to an empty schema while the hub's tables are in public
 */
export async function prepareSchema(db: Pick<Database, 'pool' | 'schema' | 'isSchemaGiven'>): Promise<void> {
  const { pool, schema, isSchemaGiven } = db;
  const { rows } = await pool.query<SchemaState>(
    `select n.oid is not null as "exists", to_regclass('hub_migration') is not null as "isHub",
       current_user as role,
       exists(select from pg_class
              where relname = 'hub_migration' and relnamespace = to_regnamespace('public')) as
                "isHubInPublic",
       has_schema_privilege(n.oid, 'usage') and has_schema_privilege(n.oid, 'create') as "canCreateTables",
       has_database_privilege(current_database(), 'create') as "canCreateSchema"
     from (select 1) one left join pg_namespace n on n.nspname = $1`,
    [schema],
  );
  const [state] = rows;
  if (state === undefined || state.isHub) return;
  const [name, role] = [pg.escapeIdentifier(schema), pg.escapeIdentifier(state.role)];
  // By default, a schema with the name of the role comes before public once it exists.
  if (state.isHubInPublic && !isSchemaGiven && schema === state.role) {
    throw new Error(
      `the search path of the role ${role} leads to the schema ${name}, which has no tables of a ` +
        'hub, while public has: ' +
        `set HUB_DATABASE_SCHEMA to public for that hub, or to ${schema} for a new one`,
    );
  }
  if (state.canCreateTables) return;
  if (state.exists) {
    throw new Error(
      `the schema ${name} has no tables of a hub, and the role ${role} may not create tables in ` +
        'it: run as an ' +
        `administrator: grant usage, create on schema ${name} to ${role}. Or name another schema in ` +
        'HUB_DATABASE_SCHEMA, or run hubctl migration apply as the owner of the schema',
    );
  }
  if (!state.canCreateSchema) {
    throw new Error(
      `there is no schema ${name} (HUB_DATABASE_SCHEMA), and the role ${role} may not create it: run as an ` +
        `administrator: create schema ${name} authorization ${role}`,
    );
  }
  await pool.query(`create schema if not exists ${name}`).catch((error) => {
    if (!CREATED_CONCURRENTLY.includes(error.code)) throw error;
  });
}

/** SQLSTATEs if another hub creates it at the same time: the schema, or its catalog entry, exists. */
const CREATED_CONCURRENTLY = ['42P06', '23505'];
