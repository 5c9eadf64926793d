// The admin token that a hub writes to its data directory for hubctl.
import type { Pool, PoolClient } from 'pg';
import { HUB, recordChangeNow } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import type { DataDir } from '../storage/data-dir.ts';
import { inTransaction } from '../storage/sql/transaction.ts';
import { registerServiceToken } from './register-token.ts';
import { newServiceToken, tokenIdOf } from './token-format.ts';

const GRANT = { name: 'local admin', role: 'admin' } as const;

/** Registers the token of the data directory in the database; replaces it if it is missing or not valid. */
export async function ensureLocalToken(pool: Pool, dataDir: DataDir, clock: Clock): Promise<string> {
  const existing = await dataDir.readAdminToken();
  if (existing && (await register(pool, clock, existing))) return existing;
  const token = newServiceToken();
  await register(pool, clock, token);
  await dataDir.writeAdminToken(token);
  return token;
}

/** False if the token is not valid. Records a token that is new to the database, unless it is the first. */
function register(pool: Pool, clock: Clock, token: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    // Serializes hubs that start at the same time: only one registers the first token.
    await client.query('lock table service_token in share row exclusive mode');
    const registration = await registerServiceToken(client, clock, token, GRANT);
    if (registration === 'added') await recordUnlessFirst(client, clock, token);
    return registration !== 'refused';
  });
}

/**
 * The first token is not recorded: a backup can only be restored into a database without recorded changes.
 */
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
