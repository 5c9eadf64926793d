// Grants a role that does not own the schema the privileges to serve: it can add to the audit log, and not
// change it.
import pg, { type Pool, type PoolClient } from 'pg';

/** Whether this role may change the schema, or create it if there is none. */
export async function ownsSchema(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ owns: boolean | null }>(
    `select coalesce(pg_has_role(c.relowner, 'usage'), has_schema_privilege(current_schema(), 'create')) as
      owns
     from (select 1) one left join pg_class c on c.oid = to_regclass('hub_migration')`,
  );
  return rows[0]?.owns === true;
}

/** Privileges on these tables. On all others: select, insert, update, delete. */
const PRIVILEGES: Readonly<Record<string, string>> = {
  hub_migration: 'select',
  // Locking a row requires the privilege to update it.
  hub_lock: 'select, update',
  audit_entry: 'select, insert',
  audit_link: 'select, insert',
  audit_anchor: 'select, insert',
  audit_head: 'select, insert, update',
  audit_key: 'select, insert, update',
};
const FUNCTIONS = ['make_month_partitions(text, date[])', 'months_astray(text)', 'months_drop(date)'];

/**
 * Grants a role what a hub needs to serve, and revokes its other privileges on these tables. Repeat it after
 * each change of the schema.
 *
 * @param client In a transaction, as the owner of the schema.
 * @param schema The schema of the tables of hub and queue.
 * @throws Error if there is no such role, or if it could change the audit log anyway
 */
export async function grantServing(client: PoolClient, role: string, schema: string): Promise<void> {
  await requireUnprivileged(client, role);
  const grantee = pg.escapeIdentifier(role);
  const place = pg.escapeIdentifier(schema);
  // Monthly partitions are accessed through their table; the job queue names its partitions directly.
  const { rows: tables } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c left join pg_inherits i on i.inhrelid = c.oid
     where c.relkind in ('r', 'p') and c.relnamespace = $1::regnamespace
       and (i.inhparent is null or i.inhparent = 'job'::regclass)
     order by 1`,
    [place],
  );
  for (const { name } of tables) {
    const table = `${place}.${pg.escapeIdentifier(name)}`;
    await client.query(`revoke all on ${table} from ${grantee}`);
    const privileges = PRIVILEGES[name] ?? 'select, insert, update, delete';
    await client.query(`grant ${privileges} on ${table} to ${grantee}`);
  }
  await client.query(`revoke create on schema ${place} from ${grantee}`);
  await client.query(`grant usage on schema ${place} to ${grantee}`);
  await client.query(`grant usage, select, update on all sequences in schema ${place} to ${grantee}`);
  for (const name of FUNCTIONS) await client.query(`grant execute on function ${name} to ${grantee}`);
}

/** The roles that have these grants: those that may call months_drop, except its owner. */
export async function servingRoles(client: Pool | PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select r.rolname as name from pg_proc p cross join aclexplode(p.proacl) a join pg_roles r on r.oid =
      a.grantee
     where p.oid = to_regprocedure('months_drop(date)') and a.privilege_type = 'EXECUTE' and a.grantee <>
       p.proowner
     order by 1`,
  );
  return rows.map(({ name }) => name);
}

async function requireUnprivileged(client: PoolClient, role: string): Promise<void> {
  const { rows } = await client.query<{ isPrivileged: boolean }>(
    `select r.rolsuper or pg_has_role(r.oid, c.relowner, 'member') as "isPrivileged"
     from pg_roles r, pg_class c where r.rolname = $1 and c.oid = 'audit_entry'::regclass`,
    [role],
  );
  const [found] = rows;
  const name = pg.escapeIdentifier(role);
  if (found === undefined) {
    throw new Error(`there is no role ${name}: create role ${name} login password '…'`);
  }
  if (!found.isPrivileged) return;
  throw new Error(
    `the role ${name} is a superuser or owns the schema, so it could change the audit log: choose ` +
      'another role',
  );
}
