// Whether PostgreSQL lets a hub have as many connections as it is set to.
import { lastingClient } from '../core/storage/lasting-client.ts';
import type { Settings } from './settings.ts';

/** A worker has one connection beside its pool, on which it hears of status changes. */
export const BESIDE_POOL = 1;

export type ConnectionRoom = {
  /** Connections that this account may have to this database, of all that connect with it. */
  readonly allowed: number;
  /** What allows no more, in PostgreSQL's words. */
  readonly by:
    | 'max_connections'
    | 'the connection limit of the role'
    | 'the connection limit of the database';
};

export type Warnings = { warn(facts: object, message: string): void };

/** Not an error: other hubs may need fewer. A pooler has connections of its own to the server. */
export async function warnOfCrowding(settings: Settings, logger: Warnings): Promise<void> {
  const { databaseUrl, databasePooler, role, workers, databasePool } = settings;
  if (databasePooler !== 'none') return;
  if (databaseUrl === undefined || role === 'gateway') return; // the embedded one is started with enough
  // A server that does not answer: whoever opens the database says so, and why.
  const room = await connectionRoom(databaseUrl.reveal()).catch(() => undefined);
  const warning = room && crowding(settings, room);
  if (warning !== undefined) logger.warn({ workers, databasePool, ...room }, warning);
}

/** @throws Error if the server does not answer within seconds */
export async function connectionRoom(databaseUrl: string): Promise<ConnectionRoom> {
  const client = lastingClient(databaseUrl, 'hub connection limits');
  client.on('error', () => {}); // the question under way says it
  await client.connect();
  try {
    // A superuser may take what is reserved, and heeds no limits but the server's.
    const { rows } = await client.query<{ server: number; role: number; database: number }>(`
      select current_setting('max_connections')::int
               - case when rolsuper then 0
                      else current_setting('superuser_reserved_connections')::int
                           + coalesce(current_setting('reserved_connections', true)::int, 0) end as server,
             case when rolsuper then -1 else rolconnlimit end as role,
             case when rolsuper then -1 else datconnlimit end as database
      from pg_roles, pg_database where rolname = current_user and datname = current_database()`);
    const { server = 0, role = -1, database = -1 } = rows[0] ?? {};
    const limits: ConnectionRoom[] = [
      { allowed: server, by: 'max_connections' },
      ...(role < 0 ? [] : [{ allowed: role, by: 'the connection limit of the role' } as const]),
      ...(database < 0 ? [] : [{ allowed: database, by: 'the connection limit of the database' } as const]),
    ];
    return limits.reduce((least, each) => (each.allowed < least.allowed ? each : least));
  } finally {
    await client.end().catch(() => {}); // it may be gone
  }
}

/** What is wrong with so many processes and such pools; undefined if all of them fit. */
export function crowding(
  { workers, databasePool }: { readonly workers: number; readonly databasePool: number },
  { allowed, by }: ConnectionRoom,
): string | undefined {
  const needed = workers * (databasePool + BESIDE_POOL);
  if (needed <= allowed) return undefined;
  const who = workers === 1 ? 'this hub' : `${workers} workers`;
  return `${who} may open ${needed} connections to PostgreSQL, which allows ${allowed} (${by}): under load some requests will fail. Lower HUB_DATABASE_POOL (${databasePool})${workers === 1 ? '' : ' or HUB_WORKERS'}, raise the limit, or put a pooler in front`;
}
