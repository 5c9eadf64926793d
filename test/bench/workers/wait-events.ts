// Samples what the connections of hubs to PostgreSQL do: run, or wait for a lock, the write-ahead log or a block.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

/** The average number of connections by wait event; `running` for those that wait for nothing. */
export type Waits = ReadonlyMap<string, number>;

const EVERY_MS = 5;

/** Samples until `work` ends. The connection that samples uses about a tenth of a processor. */
export async function sampleWaits(databaseUrl: string, work: () => Promise<unknown>): Promise<Waits> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const counts = new Map<string, number>();
  let samples = 0;
  let hasEnded = false;
  const working = work().finally(() => {
    hasEnded = true;
  });
  try {
    for (; !hasEnded; samples++) {
      const { rows } = await client.query<{ event: string }>({
        name: 'wait_events',
        text: `select coalesce(wait_event, 'running') as event from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
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
