// Samples what the sessions of hubs in PostgreSQL do: run, or wait for a lock, the write-ahead log, a block, or the hub within
// a transaction (ClientRead). Also counts their transactions.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

export type SampledSessions = {
  /** The average number of active sessions by wait event. `running`: on a processor, or waiting for one. */
  readonly active: ReadonlyMap<string, number>;
  readonly transactionsPerSecond: number;
};

const EVERY_MS = 5;
/** A session of PostgreSQL reports its transactions at most once a second. */
const REPORTS_WITHIN_MS = 1_000;

/** Samples until `work` ends. */
export async function sampleSessions(
  databaseUrl: string,
  work: () => Promise<unknown>,
): Promise<SampledSessions> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => {}); // the next query fails
  await client.connect();
  const counts = new Map<string, number>();
  let samples = 0;
  const begun = performance.now();
  let first: Transactions | undefined;
  let last: Transactions | undefined;
  let hasEnded = false;
  const working = work().finally(() => {
    hasEnded = true;
  });
  working.catch(() => {}); // handled below: it may fail before that
  try {
    for (; !hasEnded; samples++) {
      const { rows } = await client.query<{ event: string }>(ACTIVE);
      for (const { event } of rows) counts.set(event, (counts.get(event) ?? 0) + 1);
      if (performance.now() - begun > REPORTS_WITHIN_MS) {
        last = await countTransactions(client, samples);
        first ??= last;
      }
      await setTimeout(EVERY_MS);
    }
    await working;
  } finally {
    await client.end();
  }
  return {
    active: new Map([...counts].map(([event, count]) => [event, count / samples])),
    transactionsPerSecond:
      first && last ? (last.count - first.count) / (last.atSeconds - first.atSeconds) : 0,
  };
}

const ACTIVE = {
  name: 'active_sessions',
  text: `select coalesce(wait_event, 'running') as event from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
           and backend_type = 'client backend'`,
};

type Transactions = { readonly count: number; readonly atSeconds: number };

/** Without those of this sampler, which makes two in each turn after the first second. */
async function countTransactions(client: pg.Client, samples: number): Promise<Transactions> {
  const { rows } = await client.query<{ count: string }>({
    name: 'transactions',
    text: 'select xact_commit as count from pg_stat_database where datname = current_database()',
  });
  return { count: Number(rows[0]?.count) - 2 * samples, atSeconds: performance.now() / 1_000 };
}
