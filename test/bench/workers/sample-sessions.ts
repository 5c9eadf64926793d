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

/** Samples until `work` ends. `result` is its result. */
export async function sampleSessions<T>(
  databaseUrl: string,
  work: () => Promise<T>,
): Promise<SampledSessions & { readonly result: T }> {
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
      const { rows } = await client.query<{ events: string[]; transactions: string }>(SAMPLE);
      for (const event of rows[0]?.events ?? []) counts.set(event, (counts.get(event) ?? 0) + 1);
      const atMs = performance.now();
      if (atMs - begun > STATISTICS_INTERVAL_MS) {
        last = { count: Number(rows[0]?.transactions) - samples, atMs }; // each sample is a transaction too
        first ??= last;
      }
      await setTimeout(SAMPLE_INTERVAL_MS);
    }
    const result = await working;
    return {
      byWaitEvent: new Map([...counts].map(([event, count]) => [event, count / samples])),
      transactionsPerSecond:
        first && last ? ((last.count - first.count) * 1_000) / (last.atMs - first.atMs) : Number.NaN,
      result,
    };
  } finally {
    await client.end();
  }
}

type Transactions = { readonly count: number; readonly atMs: number };

const SAMPLE = {
  name: 'sample_sessions',
  text: `select xact_commit as transactions,
                array(select coalesce(wait_event, 'running') from pg_stat_activity
                      where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
                        and backend_type = 'client backend') as events
         from pg_stat_database where datname = current_database()`,
};
