// Samples pg_stat_activity: how many sessions that are not idle run, or wait, by wait event. Also counts transactions.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';

export type SampledSessions = {
  /**
   * The average number of sessions that are not idle. `running`: on a processor, or waiting for one. `ClientRead`: in a
   * transaction, waiting for the next statement.
   */
  readonly byWaitEvent: ReadonlyMap<string, number>;
  /** An estimate: each session reports its transactions up to a second later. NaN if `work` ended too early. */
  readonly transactionsPerSecond: number;
};

const SAMPLE_INTERVAL_MS = 5;
/** A session of PostgreSQL reports its transactions at most once a second. */
const STATISTICS_INTERVAL_MS = 1_000;

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
      const { rows } = await client.query<{ event: string }>(NON_IDLE_SESSIONS);
      for (const { event } of rows) counts.set(event, (counts.get(event) ?? 0) + 1);
      if (performance.now() - begun > STATISTICS_INTERVAL_MS) {
        last = await countTransactions(client, samples);
        first ??= last;
      }
      await setTimeout(SAMPLE_INTERVAL_MS);
    }
    await working;
  } finally {
    await client.end();
  }
  return {
    byWaitEvent: new Map([...counts].map(([event, count]) => [event, count / samples])),
    transactionsPerSecond:
      first && last ? (last.count - first.count) / (last.atSeconds - first.atSeconds) : Number.NaN,
  };
}

const NON_IDLE_SESSIONS = {
  name: 'non_idle_sessions',
  text: `select coalesce(wait_event, 'running') as event from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
           and backend_type = 'client backend'`,
};

type Transactions = { readonly count: number; readonly atSeconds: number };

/**
 * Excludes the transactions of the sampler: two for each sample once this function runs. Only the difference between two
 * results is exact.
 */
async function countTransactions(client: pg.Client, samples: number): Promise<Transactions> {
  const { rows } = await client.query<{ count: string }>({
    name: 'transactions',
    text: 'select xact_commit as count from pg_stat_database where datname = current_database()',
  });
  return { count: Number(rows[0]?.count) - 2 * samples, atSeconds: performance.now() / 1_000 };
}
