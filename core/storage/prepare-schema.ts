// The schema that the hub's tables are in: made where it is missing, by a role that may make it.
import pg from 'pg';
import type { Database } from './database.ts';

type Found = {
  readonly isThere: boolean;
  readonly isHub: boolean;
  readonly isHubInPublic: boolean;
  /** Whether the role may make tables in the schema. */
  readonly mayFill: boolean | null;
  /** Whether the role may make the schema. */
  readonly mayMake: boolean;
  readonly role: string;
};

/**
 * @throws Error with the statement that an administrator runs, if the role may make neither schema nor tables; Error if
 * the search path has come to lead to an empty schema, while the hub's tables are in public
 */
export async function prepareSchema({
  pool,
  schema,
  isSchemaGiven,
}: Pick<Database, 'pool' | 'schema' | 'isSchemaGiven'>): Promise<void> {
  const { rows } = await pool.query<Found>(
    `select n.oid is not null as "isThere", to_regclass('hub_migration') is not null as "isHub", current_user as role,
       exists(select from pg_class where relname = 'hub_migration' and relnamespace = to_regnamespace('public')) as "isHubInPublic",
       has_schema_privilege(n.oid, 'usage') and has_schema_privilege(n.oid, 'create') as "mayFill",
       has_database_privilege(current_database(), 'create') as "mayMake"
     from (select 1) one left join pg_namespace n on n.nspname = $1`,
    [schema],
  );
  const [found] = rows;
  if (found === undefined || found.isHub) return;
  const [name, role] = [pg.escapeIdentifier(schema), pg.escapeIdentifier(found.role)];
  // A schema named after the role comes before public by default, as soon as somebody makes it.
  if (found.isHubInPublic && !isSchemaGiven && schema === found.role) {
    throw new Error(
      `the search path of the role ${role} leads to the schema ${name}, which has no tables of a hub, while public has: ` +
        `set HUB_DATABASE_SCHEMA to public for that hub, or to ${schema} for a new one`,
    );
  }
  if (found.mayFill) return;
  if (found.isThere) {
    throw new Error(
      `the schema ${name} has no tables of a hub, and the role ${role} may not create tables in it: run as an ` +
        `administrator: grant usage, create on schema ${name} to ${role}. Or name another schema in ` +
        'HUB_DATABASE_SCHEMA, or run hubctl migration apply as the owner of the schema',
    );
  }
  if (!found.mayMake) {
    throw new Error(
      `there is no schema ${name} (HUB_DATABASE_SCHEMA), and the role ${role} may not make it: run as an ` +
        `administrator: create schema ${name} authorization ${role}`,
    );
  }
  await pool.query(`create schema if not exists ${name}`).catch((error) => {
    if (!MADE_MEANWHILE.includes(error.code)) throw error;
  });
}

/** SQLSTATEs of two hubs that make it at the same time: a schema, or its entry in the catalog, exists. */
const MADE_MEANWHILE = ['42P06', '23505'];
