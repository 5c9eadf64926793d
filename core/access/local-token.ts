// The admin token that a hub leaves in its data directory for hubctl.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import type { DataDir } from '../storage/data-dir.ts';
import { isServiceToken, newServiceToken, registerServiceToken } from './service-token.ts';

/** The token in the data directory, made known to this database; a fresh one if there is none that is good. */
export async function ensureLocalToken(pool: Pool, dataDir: DataDir, clock: Clock): Promise<string> {
  const grant = { name: 'local admin', role: 'admin' } as const;
  const kept = await dataDir.readAdminToken();
  if (kept && isServiceToken(kept) && (await registerServiceToken(pool, clock, kept, grant))) return kept;
  const token = newServiceToken();
  await registerServiceToken(pool, clock, token, grant);
  await dataDir.writeAdminToken(token);
  return token;
}
