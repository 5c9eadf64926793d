// The admin token that a hub leaves in its data directory for hubctl.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import type { DataDir } from '../storage/data-dir.ts';
import { inTransaction } from '../storage/transaction.ts';
import { HUB, recordChangeNow } from './audit.ts';
import { newServiceToken, registerServiceToken, tokenIdOf } from './service-token.ts';

const GRANT = { name: 'local admin', role: 'admin' } as const;

/** The token in the data directory, made known to this database; a fresh one if there is none that is good. */
export async function ensureLocalToken(pool: Pool, dataDir: DataDir, clock: Clock): Promise<string> {
  const kept = await dataDir.readAdminToken();
  if (kept && (await register(pool, clock, kept))) return kept;
  const token = newServiceToken();
  await register(pool, clock, token);
  await dataDir.writeAdminToken(token);
  return token;
}

/** False if it cannot be used. A token that is new to the database is a row of the audit log, unless it is the first. */
function register(pool: Pool, clock: Clock, token: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    // Of hubs that start at the same moment only one is the first.
    await client.query('lock table service_token in share row exclusive mode');
    const registration = await registerServiceToken(client, clock, token, GRANT);
    if (registration === 'added') await recordUnlessFirst(client, clock, token);
    return registration !== 'refused';
  });
}

/** A new database has nobody's changes in it yet: a backup can still be restored into it. */
async function recordUnlessFirst(client: PoolClient, clock: Clock, token: string): Promise<void> {
  const id = tokenIdOf(token);
  const { rowCount } = await client.query('select from service_token where id <> $1 limit 1', [id]);
  if (id === undefined || rowCount === 0) return;
  await recordChangeNow(client, HUB, clock(), {
    action: 'token.create',
    subject: formatId('tok', id),
    before: null,
    after: GRANT,
  });
}
