// Starts and stops the embedded PostgreSQL, or finds one that is still running.
import { readFile, rename, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { codeOf, undefinedIfMissing } from '../../../lib/caught-error.ts';
import { dedicatedClient, endClient } from '../connection/client.ts';
import { packagedBinaries } from './binaries.ts';
import { type Cluster, openCluster } from './cluster.ts';
import { DEFAULT_CONNECTIONS } from './connection-count.ts';
import { freePort } from './free-port.ts';
import { lockFileOf, removeForeignLock, runningServer } from './lock-file.ts';
import { type CommandResult, runCommand } from './run-command.ts';

export type EmbeddedPostgres = Awaited<ReturnType<typeof startEmbeddedPostgres>>;

export type EmbeddedPostgresOptions = {
  /** Created if it does not exist. Only one hub may use it at a time. */
  readonly dataDir: string;
  readonly log?: (line: string) => void;
  /** Called with the directory of the cluster, before the server is found or started. */
  readonly beforeStart?: (location: string) => Promise<void>;
  /** Returns a TCP port of 127.0.0.1, another one for each call. */
  readonly pickPort?: () => Promise<number>;
  /** For a server that is started; a running one keeps its setting. */
  readonly maxConnections?: number;
  /**
   * Settings of PostgreSQL without spaces, such as `shared_buffers=6GB`. They override those of the hub. A
   * running server keeps its settings.
   */
  readonly settings?: readonly string[];
};

/**
 * Starts PostgreSQL on the cluster in `dataDir`, which the first start creates. As root the server runs as an
 * unprivileged user, and the cluster lives under /var/lib/hubctl if that user cannot enter `dataDir`.
 * @throws Error that says what to do, with the end of the server's log if the server did not start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions) {
  const {
    log = () => {},
    pickPort = freePort,
    maxConnections = DEFAULT_CONNECTIONS,
    settings = [],
  } = options;
  const directory = resolve(options.dataDir);
  const cluster = await openCluster(directory, await packagedBinaries(), () =>
    log(`creating a PostgreSQL cluster in ${directory}`),
  );
  await options.beforeStart?.(cluster.home);
  const { port, reused } =
    (await findServer(cluster)) ?? (await startServer(cluster, pickPort, { maxConnections, settings }));
  log(
    `PostgreSQL ${cluster.binaries.major} ${reused ? 'was already running' : 'runs'} on 127.0.0.1:${port}, ` +
      `data in ${cluster.home}`,
  );
  let stopped: Promise<void> | undefined;
  return {
    url: urlOf(cluster, port),
    /** Whether another program started the server: a hub that was killed, or one that runs. */
    reused,
    /** The directory of the cluster: `<dataDir>/postgres`, or the target of that link. */
    location: cluster.home,
    /** Shuts the server down and closes its connections. Can be called again. */
    stop(): Promise<void> {
      stopped ??= stopServer(cluster);
      return stopped;
    },
    /**
     * Tells the server to stop and does not wait. Works while the process exits. An immediate stop needs a
     * recovery at the next start. It also ends a server that is recovering: PostgreSQL 18 may never finish a
     * fast stop then.
     */
    beginStop(mode: 'fast' | 'immediate' = 'fast'): void {
      void control(cluster, 'stop', ['-W', '-s', '-m', mode]);
    },
    /** Whether a server runs at this address, after it has recovered from a crash. */
    async stillRuns(): Promise<boolean> {
      return (await findServer(cluster))?.port === port;
    },
  };
}

/**
 * Another program took the port, another server is just writing the lock file, or processes of a killed
 * server still hold its lock.
 */
const TEMPORARY_FAILURE =
  /Address already in use|(lock|PID) file .* (already exists|is empty)|pre-existing shared memory block/;
/** A power loss can leave a lock file that PostgreSQL cannot read. */
const UNREADABLE_LOCK = /(lock|PID) file .* is empty|invalid data in PID file|bogus data in lock file/;
const ATTEMPTS = 40;
const POLL_MS = 250;

/** A server, and whether another program started it. */
type FoundServer = { readonly port: number; readonly reused: boolean };

/** Starts the server, unless another program starts it at the same time. */
async function startServer(
  cluster: Cluster,
  pickPort: () => Promise<number>,
  options: ServerOptions,
): Promise<FoundServer> {
  const data = join(cluster.home, 'data');
  const log = join(data, 'server.log');
  await setLogAside(log, data);
  for (let attempt = 1; ; attempt++) {
    await removeForeignLock(data);
    const port = await pickPort();
    const logged = await sizeOf(log);
    const args = ['-w', '-t', '120', '-l', 'data/server.log', '-o', serverArguments(port, options)];
    const { ok, output } = await control(cluster, 'start', args);
    if (ok) return { port, reused: false };
    const said = (await readFile(log).catch(() => Buffer.alloc(0))).subarray(logged).toString();
    const reason = `${output}\n${said}`;
    if (attempt === ATTEMPTS || !TEMPORARY_FAILURE.test(reason)) {
      const end = said.trimEnd().split('\n').slice(-15).join('\n');
      const remedy = UNREADABLE_LOCK.test(reason)
        ? `. If no PostgreSQL uses it, remove ${lockFileOf(data)}`
        : '';
      throw new Error(
        `PostgreSQL did not start in ${cluster.home}: ${output}${remedy}\nThe end of ${log}:\n${end}`,
      );
    }
    await setTimeout(POLL_MS);
    const other = await findServer(cluster);
    if (other) return other;
  }
}

/**
 * Keeps one old log, so that the log does not grow without limit. Does not rename the log of a server that
 * another program starts at the same time. That log is empty until the server has written its lock file.
 */
async function setLogAside(log: string, data: string): Promise<void> {
  if ((await sizeOf(log)) === 0 || (await runningServer(data))) return;
  await rename(log, `${log}.old`).catch(() => {}); // another program was faster, perhaps
}

/** 0 if the file does not exist. */
async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(undefinedIfMissing))?.size ?? 0;
}

type ServerOptions = Required<Pick<EmbeddedPostgresOptions, 'maxConnections' | 'settings'>>;

/**
 * The server's settings as arguments without spaces. The server listens only on the loopback interface,
 * without a socket.
 */
function serverArguments(port: number, { maxConnections, settings }: ServerOptions): string {
  return [
    `--port=${port}`,
    '--listen_addresses=127.0.0.1',
    '--unix_socket_directories=',
    `--max_connections=${maxConnections}`,
    '--shared_buffers=128MB',
    '--fsync=on',
    // PostgreSQL's defaults. For segments of 4 MB, initdb writes 20MB and 256MB.
    '--min_wal_size=80MB',
    '--max_wal_size=1GB',
    '--timezone=UTC',
    '--log_timezone=UTC',
    '--log_checkpoints=off',
    // Without it the log would show values that violate a constraint.
    '--log_error_verbosity=terse',
    // No failed statements: the ORM writes values into them, sealed secrets too.
    '--log_min_error_statement=panic',
    ...settings.map((setting) => `--${setting}`), // PostgreSQL uses the last value of a repeated setting
  ].join(' ');
}

/** The running server, after it has finished starting, recovering or stopping; undefined if there is none. */
async function findServer(cluster: Cluster): Promise<FoundServer | undefined> {
  const data = join(cluster.home, 'data');
  let refusals = 0;
  for (let attempt = 1; attempt <= 10 * ATTEMPTS; attempt++) {
    const server = await runningServer(data);
    if (server === undefined) return undefined;
    if (server.ready) {
      const failure = await connectionFailure(urlOf(cluster, server.port));
      if (failure === NOT_LISTENING) refusals++;
      // The next connection reports any other failure.
      else if (failure !== CANNOT_CONNECT_NOW) return { port: server.port, reused: true };
    }
    if (refusals === REFUSALS) {
      throw new Error(
        `${lockFileOf(data)} names process ${server.pid} as the PostgreSQL server on port ${server.port}, ` +
          'and it does not listen there. If it is another program, as after a power loss, remove that file',
      );
    }
    await setTimeout(POLL_MS);
  }
  throw new Error(`a PostgreSQL server in ${data} neither starts nor stops: see its server.log`);
}

const NOT_LISTENING = 'ECONNREFUSED';
/** Until then, a server that is just stopping has ended. */
const REFUSALS = 20;
/**
 * If one of its processes crashes, the server recovers and accepts no connections, and its lock file still
 * says that it is ready.
 */
const CANNOT_CONNECT_NOW = '57P03';

/** The code of the error if the server accepts no connections for now. */
async function connectionFailure(url: string): Promise<string | undefined> {
  const client = dedicatedClient(url, 'hub start');
  client.on('error', () => {}); // the next connection reports it
  try {
    await client.connect();
    return undefined;
  } catch (error) {
    return codeOf(error);
  } finally {
    await endClient(client);
  }
}

/** The user is the superuser of the cluster. */
function urlOf({ password }: Cluster, port: number): string {
  return `postgres://hub:${password}@127.0.0.1:${port}/hub?sslmode=disable`;
}

const STOP_MS = 60_000;
const STOP_POLL_MS = 50;

/**
 * Resolves when the server has ended. pg_ctl would wait until there is no lock file, but another program may
 * start the next server at once.
 */
async function stopServer(cluster: Cluster): Promise<void> {
  const data = join(cluster.home, 'data');
  const server = await runningServer(data);
  if (server === undefined) return;
  const { output } = await control(cluster, 'stop', ['-W', '-m', 'fast']);
  for (let waitedMs = 0; waitedMs < STOP_MS; waitedMs += STOP_POLL_MS) {
    if ((await runningServer(data))?.pid !== server.pid) return;
    await setTimeout(STOP_POLL_MS);
  }
  throw new Error(`PostgreSQL in ${data} did not stop: ${output}`);
}

/**
 * Runs pg_ctl in the cluster's home: it passes paths to a shell, so the operator's paths must not appear in
 * them.
 */
function control(cluster: Cluster, command: string, args: readonly string[]): Promise<CommandResult> {
  const { account, binaries, home } = cluster;
  return runCommand(join(binaries.root, 'bin/pg_ctl'), [command, '-D', 'data', ...args], {
    account,
    cwd: home,
    interruptAtExit: command === 'start', // pg_ctl passes the signal on to the server that it waits for
  });
}
