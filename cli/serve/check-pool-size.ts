// Checks whether PostgreSQL allows as many connections as the hub is configured for.
import type { Secret } from '../../core/secret.ts';
import { dedicatedClient } from '../../core/storage/connection/client.ts';
import { BESIDE_POOL } from '../../core/storage/embedded-postgres/connection-count.ts';
import type { Settings } from './setting-table.ts';

export type ConnectionLimit = {
  /** The connections that this account can have to this database, with all its clients. */
  readonly allowed: number;
  /** The limit, in PostgreSQL's words. */
  readonly by:
    | 'max_connections'
    | 'the connection limit of the role'
    | 'the connection limit of the database';
};

export type PoolSizes = {
  readonly workers: number;
  readonly databasePool: number;
  /** Whether PostgreSQL is the embedded one. Default: false. */
  readonly isEmbedded?: boolean;
};

export type Warnings = { warn(facts: object, message: string): void };

/**
 * No error: other hubs may need fewer. A pooler has its own connections to the server. An embedded PostgreSQL
 * that was already running keeps its limit.
 * @param databaseUrl of the settings or of the embedded PostgreSQL; undefined without a database
 */
export async function warnOfPoolSize(
  settings: Settings,
  databaseUrl: Secret<string> | undefined,
  logger: Warnings,
): Promise<void> {
  const { databasePooler, role, workers, databasePool } = settings;
  if (databaseUrl === undefined || role === 'gateway' || databasePooler !== 'none') return;
  // If the server does not answer, opening the database reports it.
  const limit = await readConnectionLimit(databaseUrl.reveal()).catch(() => undefined);
  const isEmbedded = settings.databaseUrl === undefined;
  const warning = limit && poolSizeWarning({ workers, databasePool, isEmbedded }, limit);
  if (warning !== undefined) logger.warn({ workers, databasePool, ...limit }, warning);
}

/** @throws Error if the server does not answer within seconds */
export async function readConnectionLimit(databaseUrl: string): Promise<ConnectionLimit> {
  const client = dedicatedClient(databaseUrl, 'hub connection limits');
  client.on('error', () => {}); // the query in progress reports it
  await client.connect();
  try {
    // A superuser can use reserved connections, and only the server's limit applies.
    const { rows } = await client.query<{ server: number; role: number; database: number }>(`
      select current_setting('max_connections')::int
               - case when rolsuper then 0
                      else current_setting('superuser_reserved_connections')::int
                           + coalesce(current_setting('reserved_connections', true)::int, 0) end as server,
             case when rolsuper then -1 else rolconnlimit end as role,
             case when rolsuper then -1 else datconnlimit end as database
      from pg_roles, pg_database where rolname = current_user and datname = current_database()`);
    const { server = 0, role = -1, database = -1 } = rows[0] ?? {};
    const limits: ConnectionLimit[] = [
      { allowed: server, by: 'max_connections' },
      ...(role < 0 ? [] : [{ allowed: role, by: 'the connection limit of the role' } as const]),
      ...(database < 0 ? [] : [{ allowed: database, by: 'the connection limit of the database' } as const]),
    ];
    return limits.reduce((least, each) => (each.allowed < least.allowed ? each : least));
  } finally {
    await client.end().catch(() => {}); // it may be closed already
  }
}

/** The warning for so many processes and pools; undefined if all of them fit. */
export function poolSizeWarning(
  { workers, databasePool, isEmbedded = false }: PoolSizes,
  { allowed, by }: ConnectionLimit,
): string | undefined {
  const needed = workers * (databasePool + BESIDE_POOL);
  if (needed <= allowed) return undefined;
  const who = workers === 1 ? 'this hub' : `${workers} workers`;
  const remedy = isEmbedded
    ? 'PostgreSQL was already running with this limit: stop the hub and start it again'
    : `Lower HUB_DATABASE_POOL (${databasePool})${workers === 1 ? '' : ' or HUB_WORKERS'}, raise the limit, or put a pooler in front`;
  return `${who} can open ${needed} connections to PostgreSQL, which allows ${allowed} (${by}): under load some requests will fail. ${remedy}`;
}
