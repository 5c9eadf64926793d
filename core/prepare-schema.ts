// Migrates the schema of a hub if the role owns it, with an entry in the audit log, and grants the serving
// roles.

import type { Actor } from './access/caller.ts';
import { IS_USED, isNewLog } from './audit/begin-chain.ts';
import { recordChange, recordChangeNow } from './audit/record.ts';
import type { Clock } from './clock.ts';
import { prepareJobTables } from './payment/callbacks/job-queue.ts';
import type { Database } from './storage/database.ts';
import { prepareSchema } from './storage/schema/create-schema.ts';
import { migrateUp, migrationStatus } from './storage/schema/migrate.ts';
import { grantServing, ownsSchema, servingRoles } from './storage/schema/serving-role.ts';
import { inTransaction } from './storage/sql/transaction.ts';

export type SchemaOptions = { readonly db: Database; readonly actor: Actor; readonly clock: Clock };

/**
 * Applies pending migrations and grants the serving roles their privileges. Returns the names of the
 * migrations.
 *
 * @throws Error if something is pending and this role does not own the schema, or cannot make it
 */
export async function migrateSchema({ db, actor, clock }: SchemaOptions): Promise<string[]> {
  await prepareSchema(db);
  if (!(await ownsSchema(db.pool))) {
    await requireUpToDate(db);
    return [];
  }
  const names = await migrateUp(db, {
    // A new database has no changes to record, and the audit chain begins before the first one.
    record: async (em, before, after) => {
      if (before === undefined) return;
      const [log] = await em.getConnection().execute(IS_USED, [], 'all', em.getTransactionContext());
      if (!log?.used) return;
      const change = {
        action: 'schema.migrate',
        subject: after,
        before: { last: before },
        after: { last: after },
      };
      recordChange(em, actor, clock(), change);
    },
  });
  await prepareJobTables(db);
  if (names.length > 0) for (const role of await servingRoles(db.pool)) await grant(db, role);
  return names;
}

/**
 * Grants a role that does not own the schema the privileges to serve. The schema must be up to date.
 * @throws Error if there is no such role, or if it could change the audit log anyway
 */
export async function grantServingRole({ db, actor, clock }: SchemaOptions, role: string): Promise<void> {
  const before = await servingRoles(db.pool);
  await grant(db, role, async (client) => {
    if (before.includes(role) || (await isNewLog(client))) return;
    await recordChangeNow(client, actor, clock(), {
      action: 'schema.let_serve',
      subject: role,
      before: { servingRoles: before },
      after: { servingRoles: [...before, role].sort() },
    });
  });
}

async function grant(
  db: Database,
  role: string,
  record: (client: Parameters<typeof grantServing>[0]) => Promise<void> = async () => {},
): Promise<void> {
  await prepareJobTables(db);
  await inTransaction(db.pool, async (client) => {
    await grantServing(client, role, db.schema);
    await record(client);
  });
}

async function requireUpToDate(db: Database): Promise<void> {
  const { pending } = await migrationStatus(db);
  const [first] = pending;
  if (first === undefined) return;
  const { rows } = await db.pool.query<{ role: string }>('select current_user as role');
  throw new Error(
    `the schema of the database is not up to date (${first}), and the role "${rows[0]?.role}" does ` +
      'not own it: ' +
      'run hubctl migration apply with the DATABASE_URL of the role that does',
  );
}
