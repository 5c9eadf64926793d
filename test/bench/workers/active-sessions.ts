// Samples what the sessions of hubs in PostgreSQL do: run, or wait for a lock, the write-ahead log, a block, or the hub within
// a transaction (ClientRead).
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

/** The average number of active sessions by wait event. `running`: on a processor, or waiting for one. */
export type ActiveSessions = ReadonlyMap<string, number>;

const EVERY_MS = 5;

/** Samples until `work` ends. */
export async function sampleSessions(
  databaseUrl: string,
  work: () => Promise<unknown>,
): Promise<ActiveSessions> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {}); // the next query fails
  await client.connect();
  const counts = new Map<string, number>();
  let samples = 0;
  let hasEnded = false;
  const working = work().finally(() => {
    hasEnded = true;
  });
  working.catch(() => {}); // handled below: it may fail before that
  try {
    for (; !hasEnded; samples++) {
      const { rows } = await client.query<{ event: string }>({
        name: 'wait_events',
        text: `select coalesce(wait_event, 'running') as event from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
                 and backend_type = 'client backend'`,
      });
      for (const { event } of rows) counts.set(event, (counts.get(event) ?? 0) + 1);
      await setTimeout(EVERY_MS);
    }
    await working;
  } finally {
    await client.end();
  }
  return new Map([...counts].map(([event, count]) => [event, count / samples]));
}
