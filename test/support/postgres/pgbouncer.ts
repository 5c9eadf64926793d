// A PgBouncer in front of a test's PostgreSQL, with pool_mode = transaction and few server connections.
import { chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { unprivilegedAccount } from '../../../core/storage/embedded-postgres/account.ts';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';
import { discard, makeDataDir } from '../hub/data-dir.ts';
import { requireProgram, startProgram } from '../programs.ts';
import { until } from '../until.ts';
import { query } from './databases.ts';

export type PgBouncer = {
  /** The URL of the same database through PgBouncer. */
  readonly url: string;
  stop(): Promise<void>;
};

export function requirePgBouncer(test: Context): void {
  requireProgram(test, 'pgbouncer', '--version');
}

/**
 * @param databaseUrl the server behind it, with its login role
 * @param settings additional lines of the section [pgbouncer]
 */
export async function startPgBouncer(
  databaseUrl: string,
  { poolSize = 5, settings = [] }: { poolSize?: number; settings?: readonly string[] } = {},
): Promise<PgBouncer> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const [directory, account, listenPort] = await Promise.all([
    makeDataDir(),
    unprivilegedAccount(),
    freePort(),
  ]);
  const file = join(directory, 'pgbouncer.ini');
  const server = `host=${hostname} port=${port} user=${username} password=${password}`;
  const lines = [
    '[databases]',
    `* = ${server}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${listenPort}`,
    'unix_socket_dir =',
    'auth_type = any', // the line above names the role
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 500',
    ...settings,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  if (account !== undefined)
    await Promise.all([directory, file].map((path) => chown(path, account.uid, account.gid)));
  const program = startProgram('pgbouncer', [file], { account }); // it refuses to run as root
  const url = `postgres://hub@127.0.0.1:${listenPort}${pathname}`;
  await until(
    () =>
      query(url, 'select 1').then(
        () => true,
        () => false,
      ),
    'PgBouncer answers',
    10_000,
  );
  return {
    url,
    async stop() {
      await program.stop();
      await discard(directory);
    },
  };
}
