// The metrics of the database: the pool, whether it responds, and those that modules read from their tables.
import type { Pool, PoolClient } from 'pg';
import type { GaugeReading, GaugeSpec, Metrics } from '../../lib/metrics/metrics.ts';
import { unlessAborted, withDeadline } from '../../lib/net/deadline.ts';
import { shareRead } from '../../lib/net/share-read.ts';
import { inTransaction } from './sql/transaction.ts';

/** Metrics that a module reads from its tables, by statements whose cost does not grow with the tables. */
export type Figures = {
  readonly specs: readonly GaugeSpec[];
  /** Returns the values by the names of the specs. */
  read(client: PoolClient): Promise<Readonly<Record<string, GaugeReading>>>;
};

export type DatabaseMetricsOptions = {
  readonly pool: Pool;
  /** Maximum number of connections of the pool. */
  /** Maximum number of database connections of this process. */
  readonly poolSize: number;
  readonly metrics: Metrics;
  readonly figures: readonly Figures[];
};

/** How long a result is reused. */
const MAX_AGE_MS = 2_000;
/** Time-out of the statements. */
const STATEMENT_MS = 2_000;
/** Time-out of a request. The query continues, and no second one starts beside it. */
const TIMEOUT_MS = 3_000;

const UP: GaugeSpec = {
  name: 'hub_database_up',
  help: 'Whether the database answered the hub in time; while it is 0, all metrics read from it are missing.',
};

export function measureDatabase({ pool, poolSize, metrics, figures }: DatabaseMetricsOptions): void {
  metrics.gauge(
    {
      name: 'hub_pg_pool_connections',
      help: 'Connections to PostgreSQL of the pool.',
      labelNames: ['state'],
    },
    () => [
      { labels: { state: 'idle' }, value: pool.idleCount },
      { labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
    ],
  );
  metrics.gauge(
    { name: 'hub_pg_pool_waiting', help: 'Requests that are waiting for a connection of the pool.' },
    () => pool.waitingCount,
  );
  metrics.gauge(
    { name: 'hub_pg_pool_limit', help: 'Size of the connection pool: HUB_DATABASE_POOL.' },
    () => poolSize,
  );

  const read = shareRead(
    () =>
      inTransaction(pool, (client) => Promise.all(figures.map((each) => each.read(client))), {
        statementTimeoutMs: STATEMENT_MS,
      }),
    MAX_AGE_MS,
  );
  metrics.commonGauges([UP, ...figures.flatMap(({ specs }) => specs)], async () => {
    try {
      const readings = await withDeadline(TIMEOUT_MS, undefined, (late) => unlessAborted(read(), late));
      return Object.assign({ [UP.name]: 1 }, ...readings);
    } catch {
      return { [UP.name]: 0 }; // other requests log the reason
    }
  });
}
