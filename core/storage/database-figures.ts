// What is told of the database: the pool, whether it answers, and what the rooms read from their tables.
import { setTimeout } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import type { GaugeSpec, Metrics, Reading } from '../../metrics/metrics.ts';
import { shareLooks } from '../../ports/share-looks.ts';
import { inTransaction } from './transaction.ts';

/** What a room reads from its tables: by statements that take about as long however much there is. */
export type Figures = {
  readonly specs: readonly GaugeSpec[];
  /** By the names of the specs. */
  read(client: PoolClient): Promise<Readonly<Record<string, Reading>>>;
};

export type DatabaseFiguresOptions = {
  readonly pool: Pool;
  /** Most connections of the pool. */
  readonly poolSize: number;
  readonly metrics: Metrics;
  readonly figures: readonly Figures[];
};

/** However often somebody asks, the database is asked once in so long. */
const MAX_AGE_MS = 2_000;
/** So long the statements may take, */
const STATEMENT_MS = 2_000;
/** and so long whoever asks waits. The look goes on, and there is no second one beside it. */
const PATIENCE_MS = 3_000;

const UP: GaugeSpec = {
  name: 'hub_database_up',
  help: 'Whether the database answered the hub in time; if it is 0, all that is read from it is missing.',
};

export function measureDatabase({ pool, poolSize, metrics, figures }: DatabaseFiguresOptions): void {
  metrics.gauge({ name: 'hub_pg_pool_connections', help: 'Connections to PostgreSQL of the pool.' }, () => [
    { labels: { state: 'idle' }, value: pool.idleCount },
    { labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
  ]);
  metrics.gauge(
    { name: 'hub_pg_pool_waiting', help: 'Requests that wait for a connection of the pool.' },
    () => pool.waitingCount,
  );
  metrics.gauge(
    { name: 'hub_pg_pool_limit', help: 'Connections that the pool may have: HUB_DATABASE_POOL.' },
    () => poolSize,
  );

  const look = shareLooks(
    () =>
      inTransaction(pool, (client) => Promise.all(figures.map((each) => each.read(client))), {
        statementTimeoutMs: STATEMENT_MS,
      }),
    MAX_AGE_MS,
  );
  metrics.common([UP, ...figures.flatMap(({ specs }) => specs)], async () => {
    try {
      const readings = await within(look(), PATIENCE_MS);
      return Object.assign({ [UP.name]: 1 }, ...readings);
    } catch {
      return { [UP.name]: 0 }; // whoever needs the database says why
    }
  });
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const done = new AbortController();
  const late = setTimeout(ms, undefined, { signal: done.signal }).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  return Promise.race([work, late]).finally(() => done.abort());
}
