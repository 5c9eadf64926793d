// Opens PostgreSQL: one pool for the ORM (administration) and for prepared SQL (hot paths).
import { Migrator } from '@mikro-orm/migrations';
import { type EntityManager, type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';

export type Database = {
  readonly orm: MikroORM;
  readonly pool: Pool;
  /** A fresh unit of work; one per call, never shared between requests. */
  em(): EntityManager;
  close(): Promise<void>;
};

export type DatabaseOptions = {
  /** A `postgres://` URL. */
  readonly url: string;
  /** Most connections this process holds. */
  readonly poolSize: number;
  // biome-ignore lint/suspicious/noExplicitAny: the ORM's own signature for a mixed list of schemas
  readonly entities: readonly EntitySchema<any, any>[];
  readonly log?: (message: string) => void;
};

/** Connects lazily: the first query opens the first connection and reports what is wrong with the URL or the server. */
export async function openDatabase({ url, poolSize, entities, log }: DatabaseOptions): Promise<Database> {
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: [...entities],
    extensions: [Migrator],
    migrations: {
      path: `${import.meta.dirname}/migrations`,
      glob: '!(*.d).{js,ts}',
      emit: 'ts',
      tableName: 'hub_migration',
      snapshot: false,
      disableForeignKeys: false,
    },
    pool: { min: 0, max: poolSize, idleTimeoutMillis: 30_000 },
    driverOptions: {
      connectionTimeoutMillis: 5_000,
      statement_timeout: 15_000,
      idle_in_transaction_session_timeout: 15_000,
      application_name: 'hub',
      keepAlive: true,
    },
    forceUtcTimezone: true,
    logger: (message) => log?.(message),
  });
  const pool = await orm.em.getDriver().getConnection().getNativeClient();
  return { orm, pool, em: () => orm.em.fork(), close: () => orm.close() };
}
