// Checks whether a pooler between hub and database is configured correctly.

import { dedicatedClient } from '../../core/storage/connection/client.ts';
import { identityOf } from '../../core/storage/database.ts';
import { messageOf } from '../../lib/caught-error.ts';
import type { Settings } from '../serve/setting-table.ts';
import type { CheckResult } from '../views/operations/check-result.ts';
import { failed, ok, warning } from './results.ts';

const check = 'pooler';

/** Undefined without a pooler and without its setting. */
export async function checkPooler({
  databaseUrl,
  databasePooler,
  databaseDirectUrl,
}: Pick<Settings, 'databaseUrl' | 'databasePooler' | 'databaseDirectUrl'>): Promise<CheckResult | undefined> {
  if (databaseUrl === undefined) return undefined;
  if (databasePooler === 'none') {
    const { isPooled } = await look(databaseUrl.reveal());
    if (!isPooled) return undefined;
    return warning(check, 'a pooler answers at DATABASE_URL', 'set HUB_DATABASE_POOLER=transaction');
  }
  if (databaseDirectUrl === undefined) {
    return ok(check, 'by transaction; without HUB_DATABASE_DIRECT_URL status changes are polled');
  }
  const remedy = 'correct HUB_DATABASE_DIRECT_URL: it must lead to the same database without the pooler';
  try {
    const through = await look(databaseUrl.reveal());
    const direct = await look(databaseDirectUrl.reveal());
    if (direct.isPooled) return warning(check, 'the direct address leads to a pooler', remedy);
    if (direct.identity !== through.identity)
      return failed(check, 'the direct address leads to another database', remedy);
    return ok(check, 'by transaction; the direct address bypasses it');
  } catch (error) {
    return failed(check, `the direct address does not answer: ${messageOf(error)}`, remedy);
  }
}

/** A pooler gives its clients cancel keys that name no process of the server. */
async function look(url: string): Promise<{ isPooled: boolean; identity: string }> {
  const client = dedicatedClient(url, 'hubctl doctor');
  client.on('error', () => {}); // the query in progress fails with it
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const { processID } = client as unknown as { processID: number | null }; // missing from the types
    return { isPooled: rows[0]?.pid !== processID, identity: await identityOf(client) };
  } finally {
    await client.end().catch(() => {}); // it may be closed already
  }
}
