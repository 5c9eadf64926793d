// A PostgreSQL server of a test's own: to restart, to kill, to freeze, and to follow with a standby.
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
  /** The same over all restarts. */
  readonly url: string;
  /** Shuts down cleanly: closes connections and keeps commits. */
  stop(): Promise<void>;
  /** SIGKILL to the server and all of its processes; resolves when they are gone. */
  kill(): Promise<void>;
  /** Starts it if it does not run. */
  start(): Promise<void>;
  /** SIGSTOP to all of its processes: connections stay open without answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** A hot standby that has everything this server has acknowledged (synchronous replication). */
  follow(): Promise<Standby>;
  /** Ends it, and removes all that it wrote. */
  discard(): Promise<void>;
};

export type Standby = PostgresServer & {
  /** Makes it the primary; resolves once it takes writes. */
  promote(): Promise<void>;
};

/** A new server, in a directory of the caller's or in one of its own. */
export async function startServer(directory?: string): Promise<PostgresServer> {
  const dataDir = directory ?? (await makeDataDir());
  await chmod(dataDir, 0o711); // under root another user runs it
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
      signal(server, 'SIGSTOP'); // first: it starts no other process then
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
 * A free port that the system gives to nobody who takes any. While a server is down, its port could become that of another
 * program, or of a hub's connection to that very port, which is then connected to itself: the server would not come back.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = await freePort(20_000 + Math.floor(Math.random() * 10_000)).catch(() => undefined);
    if (port !== undefined) return port;
  }
}

const STANDBY = 'standby';

/** A copy of the cluster of a server that is shut down: a whole base backup. */
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

/** False if the process is gone. */
function signal(pid: number, what: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, what);
  } catch {
    return false;
  }
}
