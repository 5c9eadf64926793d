// A separate PostgreSQL server for one test, which can restart, kill or freeze it and add a standby.
import { appendFile, chmod, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';
import { runningServer } from '../../../core/storage/embedded-postgres/lock-file.ts';
import { runCommand } from '../../../core/storage/embedded-postgres/run-command.ts';
import { startEmbeddedPostgres } from '../../../core/storage/embedded-postgres/start.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

export type PostgresServer = {
  /** The URL, which stays the same over restarts. */
  readonly url: string;
  /** Shuts down cleanly: closes connections and keeps commits. */
  stop(): Promise<void>;
  /** Sends SIGKILL to the server and all of its processes, and resolves when they have ended. */
  kill(): Promise<void>;
  /** Starts the server if it is not running. */
  start(): Promise<void>;
  /** Sends SIGSTOP to all of its processes: connections stay open without responses. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Creates a hot standby with everything that this server has acknowledged (synchronous replication). */
  follow(): Promise<Standby>;
  /** Stops the server and removes its files. */
  discard(): Promise<void>;
};

export type Standby = PostgresServer & {
  /** Makes the standby the primary, and resolves when it accepts writes. */
  promote(): Promise<void>;
};

/** A new server, in the given directory or in a new one. */
export async function startServer(directory?: string): Promise<PostgresServer> {
  const dataDir = directory ?? (await makeDataDir());
  await chmod(dataDir, 0o711); // another user runs it if the tests run as root
  return openServer(dataDir);
}

async function openServer(dataDir: string): Promise<PostgresServer> {
  const { url, location } = await startEmbeddedPostgres({ dataDir, pickPort: lastingPort });
  const port = Number(new URL(url).port);
  const data = join(location, 'data');
  let frozen: readonly number[] = [];

  const processes = async (): Promise<number[]> => {
    const server = await runningServer(data);
    if (server === undefined) return [];
    const children = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8');
    return [server.pid, ...children.trim().split(' ').filter(Boolean).map(Number)];
  };
  const stop = async (): Promise<void> => {
    await (await startEmbeddedPostgres({ dataDir, pickPort: async () => port })).stop();
  };
  return {
    url,
    stop,
    async kill() {
      const victims = await processes();
      for (const pid of victims) signal(pid, 'SIGKILL');
      await until(() => !victims.some((pid) => signal(pid, 0)), 'all processes of PostgreSQL are gone');
    },
    async start() {
      await startEmbeddedPostgres({ dataDir, pickPort: async () => port });
    },
    async freeze() {
      const [server, ...rest] = await processes();
      if (server === undefined) throw new Error('PostgreSQL does not run');
      signal(server, 'SIGSTOP'); // first, so that it starts no more processes
      frozen = [server, ...new Set([...rest, ...(await processes()).slice(1)])];
      for (const pid of frozen) signal(pid, 'SIGSTOP');
    },
    async thaw() {
      for (const pid of frozen.toReversed()) signal(pid, 'SIGCONT');
      frozen = [];
    },
    async follow() {
      await stop();
      const standbyDir = await makeDataDir();
      await copyCluster(location, standbyDir);
      await beStandby(standbyDir, url);
      await startEmbeddedPostgres({ dataDir, pickPort: async () => port });
      const standby = await openServer(standbyDir);
      await query(url, `alter system set synchronous_standby_names = '${STANDBY}'`);
      await query(url, 'select pg_reload_conf()');
      const inStep = "select from pg_stat_replication where sync_state = 'sync'";
      await until(async () => (await query(url, inStep)).length === 1, 'the standby is in step');
      return {
        ...standby,
        async promote() {
          await query(standby.url, 'select pg_promote()');
        },
      };
    },
    discard: () => discard(dataDir),
  };
}

/**
 * A free port outside the ephemeral range. While a server is down, the system could otherwise assign its port
 * to another program, or to a hub's connection to that same port. Such a connection would connect to itself,
 * and the server could not start again.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = await freePort(20_000 + Math.floor(Math.random() * 10_000)).catch(() => undefined);
    if (port !== undefined) return port;
  }
}

const STANDBY = 'standby';

/** Copies the data directory of a stopped server as a base backup. */
async function copyCluster(location: string, dataDir: string): Promise<void> {
  await chmod(dataDir, 0o711);
  const target = join(await realpath(dataDir), 'postgres');
  await mkdir(target, { mode: 0o711 });
  const { ok, output } = await runCommand('cp', ['-a', `${location}/.`, target]);
  if (!ok) throw new Error(`the cluster could not be copied: ${output}`);
}

async function beStandby(dataDir: string, primaryUrl: string): Promise<void> {
  const data = join(dataDir, 'postgres/data');
  const { hostname, port, username, password } = new URL(primaryUrl);
  const source = `host=${hostname} port=${port} user=${username} password=${password}`;
  const settings = `primary_conninfo = '${source} application_name=${STANDBY}'\n`;
  await appendFile(join(data, 'postgresql.auto.conf'), settings);
  await writeFile(join(data, 'standby.signal'), '');
}

/** False if the process has ended. */
function signal(pid: number, what: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, what);
  } catch {
    return false;
  }
}
