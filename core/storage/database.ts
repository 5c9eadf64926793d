// Opens PostgreSQL with one pool for the ORM (administration) and for prepared SQL (hot paths).
import { type EntityManager, type EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import type { ClientBase, Pool, PoolClient } from 'pg';
import { messageOf } from '../../lib/caught-error.ts';
import { keepContextInPool, traceStatements } from '../../lib/tracing/statement-spans.ts';
import { clientClass, poolTimeoutMs } from './connection/client.ts';
import {
  type ConnectionTarget,
  describeTarget,
  parseConnectionString,
} from './connection/connection-string.ts';
import {
  type DatabaseAddress,
  schemaName,
  searchPath,
  searchPathSetting,
} from './connection/database-address.ts';
import { keepNoSessionState } from './connection/transaction-pooling.ts';
import { ReadOnlyDatabase } from './sql/transient-errors.ts';

export type Database = {
  readonly orm: MikroORM;
  readonly pool: Pool;
  /** The schema of the hub's tables. */
  readonly schema: string;
  /** False: from the search path of the role. */
  readonly isSchemaGiven: boolean;
  /** A fresh unit of work; one per call, never shared between requests. */
  em(): EntityManager;
  close(): Promise<void>;
};

export type DatabaseOptions = DatabaseAddress & {
  /** Maximum number of database connections of this process. */
  readonly poolSize: number;
  // biome-ignore lint/suspicious/noExplicitAny: the ORM's own signature for a mixed list of schemas
  readonly entities: readonly EntitySchema<any, any>[];
  readonly log?: (message: string) => void;
};

/**
 * Opens the pool and checks that PostgreSQL 15 or later responds.
 * @throws Error that names the server, never the password, and what is wrong
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, schema: givenSchema, pooler, applicationName, poolSize, entities, log } = options;
  const target = parseConnectionString(url);
  let schema = givenSchema;
  const usesTransactionPooling = pooler === 'transaction';
  // Unlike its init(), the constructor does not load the extensions of the ORM that are installed: the
  // migrator.
  const orm = new MikroORM({
    dbName: target.database,
    entities: [...entities],
    pool: { min: 0, max: poolSize, idleTimeoutMillis: 30_000 },
    driverOptions: {
      // The ORM and the driver do not read an address as libpq does.
      Client: clientClass(target),
      connectionTimeoutMillis: poolTimeoutMs(target),
      ...(!usesTransactionPooling && TIMEOUTS),
      // For a server that no longer responds, whose own time-out has no effect.
      query_timeout: 20_000,
      // Behind a pooler, a restore finds hubs only by this name.
      application_name:
        applicationName ?? (usesTransactionPooling ? 'hub' : (target.applicationName ?? 'hub')),
      // Statements of one transaction can share a round trip.
      pipeline: true,
      verify: usesTransactionPooling
        ? preparePooledConnection(target, () => schema)
        : prepareConnection(target, givenSchema),
    },
    forceUtcTimezone: true,
    // A mistyped name must not create an empty database.
    ensureDatabase: false,
    logger: (message) => log?.(message),
  });
  try {
    const pool = await orm.em.getDriver().getConnection().getNativeClient();
    keepContextInPool(pool);
    await requireVersion(pool);
    const found = await findSchema(pool, givenSchema);
    schema = found;
    orm.config.set('schema', found);
    const close = async (): Promise<void> => {
      await orm.close();
      // The ORM ends the pool only if it was the one to use it.
      if (!pool.ending) await pool.end();
    };
    return {
      orm,
      pool,
      schema: found,
      isSchemaGiven: givenSchema !== undefined,
      em: () => orm.em.fork(),
      close,
    };
  } catch (error) {
    await orm.close();
    throw new Error(`no database at ${describeTarget(target)}: ${reasonOf(error)}${hintAt(error)}`, {
      cause: error,
    });
  }
}

/** For each statement, and for an idle transaction; in milliseconds. */
const TIMEOUTS = { statement_timeout: 15_000, idle_in_transaction_session_timeout: 15_000 };

/**
 * Sets up a new connection and checks that its server accepts writes. Reads from a standby may be stale.
 */
function prepareConnection(target: ConnectionTarget, schema: string | undefined) {
  // Plans a prepared statement once. PostgreSQL would plan again for each batch, because batches differ in
  // length, and planning takes longer than the statement.
  const settings = `set plan_cache_mode = force_generic_plan; ${searchPathSetting({ schema })}`;
  return (client: PoolClient, done: (error?: Error) => void): void => {
    traceStatements(client);
    void client.query(settings).then(() => requireWrites(target, client, done), done);
  };
}

/** The same for a transaction pooler, which accepts no settings when a connection starts. */
function preparePooledConnection(target: ConnectionTarget, schema: () => string | undefined) {
  const timeouts = Object.entries(TIMEOUTS).map(([name, ms]) => `${name} = ${ms}`);
  // Until the schema is known: the role's own path, not one that another client has set in the session.
  const path = (name: string | undefined) =>
    name === undefined ? 'search_path to default' : searchPath(name);
  return (client: PoolClient, done: (error?: Error) => void): void => {
    keepNoSessionState(client, () => [...timeouts, 'lock_timeout = 0', path(schema())]);
    traceStatements(client);
    void requireWrites(target, client, done);
  };
}

function requireWrites(
  { servers, targetSession }: ConnectionTarget,
  client: PoolClient,
  done: (error?: Error) => void,
): Promise<void> {
  const remedy = servers.length > 1 && targetSession === 'any' ? FIND_PRIMARY : '';
  return takesWrites(client).then((writes) => done(writes ? undefined : new ReadOnlyDatabase(remedy)), done);
}

/** PgBouncer rejects the settings of a connection with this message. */
function hintAt(error: unknown): string {
  if (!/unsupported startup parameter/i.test(reasonOf(error))) return '';
  return (
    ': a connection pooler rejected the startup parameters of the hub: ' +
    'set HUB_DATABASE_POOLER=transaction'
  );
}

async function findSchema(pool: Pool, given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const { rows } = await pool.query<{ schema: string | null; path: string }>(
    `select current_schema() as schema, current_setting('search_path') as path`,
  );
  const { schema = null, path = '' } = rows[0] ?? {};
  if (schema === null) {
    throw new Error(
      `no schema of the role's search path (${path}) exists: create one, or name one in HUB_DATABASE_SCHEMA`,
    );
  }
  try {
    return schemaName(schema);
  } catch (error) {
    throw new Error(`the first schema of the role's search path is ${schema}; it ${reasonOf(error)}`);
  }
}

const FIND_PRIMARY = ': add target_session_attrs=read-write to DATABASE_URL, which names several hosts';

export async function takesWrites(db: Pool | ClientBase): Promise<boolean> {
  const { rows } = await db.query('show transaction_read_only');
  return rows[0].transaction_read_only !== 'on';
}

/** The same for all connections to a database while its server runs. */
export async function identityOf(db: Pool | ClientBase): Promise<string> {
  const { rows } = await db.query<{ identity: string }>(
    `select concat_ws(' ', oid, pg_postmaster_start_time()) as identity from pg_database where datname =
     current_database()`,
  );
  return rows[0]?.identity ?? '';
}

const OLDEST_VERSION = 15;

async function requireVersion(pool: Pool): Promise<void> {
  const { rows } = await pool.query('show server_version_num');
  const major = Math.floor(Number(rows[0].server_version_num) / 10_000);
  if (major < OLDEST_VERSION)
    throw new Error(`it is PostgreSQL ${major}; ${OLDEST_VERSION} or later is needed`);
}

/** A failed connection to a name with several addresses is an AggregateError. */
export function reasonOf(error: unknown): string {
  const [first = error] = error instanceof AggregateError ? error.errors : [];
  return messageOf(first);
}
