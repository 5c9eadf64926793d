// Two PostgreSQL 15 servers under Patroni with etcd and HAProxy, set up as in
// docs/operations/postgresql-failover.md.
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { unprivilegedAccount } from '../../../core/storage/embedded-postgres/account.ts';
import { type Account, runCommand } from '../../../core/storage/embedded-postgres/run-command.ts';
import { makeDataDir } from '../../support/hub/data-dir.ts';
import { query } from '../../support/postgres/databases.ts';
import { POSTGRES_15_BIN } from '../../support/postgres/postgres-pair.ts';
import { hasProgram, type Program, startProgram } from '../../support/programs.ts';
import { until } from '../../support/until.ts';
import { lastingPort } from '../scenes/postgres-server.ts';
import { haproxyConfiguration, type NodeAddress, patroniConfiguration } from './configuration.ts';
import { type Etcd, openEtcd } from './etcd.ts';
import { freezeIn, guardDirectory, killIn, thawIn } from './processes.ts';

export type PatroniNode = NodeAddress & {
  /** Sends SIGKILL to Patroni, PostgreSQL and all of its processes, and resolves when they have ended. */
  kill(): Promise<void>;
  start(): void;
  /** Sends SIGSTOP to all of them: connections stay open without responses. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Sends SIGSTOP to the processes that send its WAL to standbys. */
  freezeSenders(): Promise<void>;
};

export type PatroniCluster = {
  /** The URL of a database of the hub's role, through HAProxy. */
  readonly databaseUrl: string;
  /** The same without HAProxy: a list of both servers, for a client that selects the writable one. */
  readonly hostList: string;
  /** The node that holds the lock in etcd. Undefined while there is none. */
  leader(): Promise<PatroniNode | undefined>;
  /**
   * Resolves with the new leader and the time of its election when a node other than `old` holds the lock.
   */
  newLeader(old: PatroniNode): Promise<{ readonly node: PatroniNode; readonly at: number }>;
  /** Resolves when the other node is the synchronous standby, so that a failover loses no data. */
  inSync(): Promise<void>;
  /** Runs a switchover, and resolves when patronictl confirms it. */
  switchover(from: PatroniNode): Promise<void>;
  /** The latest output of the programs, for diagnosis. */
  output(): string;
  stop(): Promise<void>;
};

/** The missing Debian packages, or undefined if there are none. */
export function missingPackages(): string | undefined {
  const missing = [
    ...(hasProgram('patroni', '--version') ? [] : ['patroni']),
    ...(hasProgram('etcd', '--version') ? [] : ['etcd-server']),
    ...(hasProgram('haproxy', '-v') ? [] : ['haproxy']),
    ...(existsSync(join(POSTGRES_15_BIN, 'initdb')) ? [] : ['postgresql-15']),
  ];
  return missing.length === 0 ? undefined : missing.join(', ');
}

const NAMES = ['db1', 'db2'] as const;
const PASSWORD = 'secret-of-a-test';
const START_MS = 60_000;
const ELECTION_MS = 120_000;
const POLL_MS = 20;

/** @param ttl seconds until the lock of a dead primary expires; the default is the value on the page */
export async function startPatroni(ttl?: number): Promise<PatroniCluster> {
  await using undo = new AsyncDisposableStack();
  const directory = await realpath(await makeDataDir());
  undo.defer(guardDirectory(directory));
  await chmod(directory, 0o711);
  const account = await unprivilegedAccount();
  const programs = new Map<string, Program>();
  const run = async (name: string, program: string, args: readonly string[]): Promise<void> => {
    programs.set(
      name,
      startProgram(program, args, { account, cwd: await ownDirectory(directory, name, account) }),
    );
  };
  const output = (): string =>
    [...programs].map(([name, program]) => `${name}: ${program.output().slice(-3_000)}`).join('\n');

  const [etcdPort, peerPort, proxyPort] = [await lastingPort(), await lastingPort(), await lastingPort()];
  const etcd = openEtcd(`http://127.0.0.1:${etcdPort}`);
  await run('etcd', 'etcd', etcdArguments(etcdPort, peerPort));
  await until(() => etcd.isUp(), 'etcd answers', START_MS);

  const nodes: PatroniNode[] = [];
  for (const name of NAMES) {
    const address = { name, postgresPort: await lastingPort(), restPort: await lastingPort() };
    const node = await prepareNode({ address, etcdPort, directory, account, ttl, run });
    nodes.push(node);
  }
  const file = join(directory, 'haproxy.cfg');
  await writeFile(file, haproxyConfiguration(proxyPort, nodes));
  await chmod(file, 0o644);
  await run('haproxy', 'haproxy', ['-db', '-f', file]);

  const cluster = watchCluster(etcd, nodes, directory);
  for (const node of nodes) node.start();
  await cluster.inSync().catch((error) => {
    throw new Error(`${error.message}\n${output()}`, { cause: error });
  });
  await createHubDatabase(await cluster.leader());
  const databaseUrl = `postgres://hub:${PASSWORD}@127.0.0.1:${proxyPort}/hub`;
  await until(() => answers(databaseUrl), 'HAProxy leads to the primary', START_MS);
  const resources = undo.move();
  const hosts = nodes.map(({ postgresPort }) => `127.0.0.1:${postgresPort}`).join(',');
  const hostList = `postgres://hub:${PASSWORD}@${hosts}/hub?target_session_attrs=read-write`;
  return { ...cluster, databaseUrl, hostList, output, stop: () => resources.disposeAsync() };
}

type NodeOptions = {
  readonly address: NodeAddress;
  readonly etcdPort: number;
  readonly directory: string;
  readonly account: Account | undefined;
  readonly ttl: number | undefined;
  readonly run: (name: string, program: string, args: readonly string[]) => Promise<void>;
};

async function prepareNode(options: NodeOptions): Promise<PatroniNode> {
  const { address, etcdPort, directory, account, ttl, run } = options;
  const { name } = address;
  const home = await ownDirectory(directory, name, account);
  const file = configurationOf(directory, address);
  const text = patroniConfiguration({
    node: address,
    etcdPort,
    dataDir: join(home, 'data'),
    ownDir: home,
    binDir: POSTGRES_15_BIN,
    password: PASSWORD,
    ttl,
  });
  await writeFile(file, text);
  await chmod(file, 0o644);
  return {
    ...address,
    kill: () => killIn(home),
    start: () => void run(name, 'patroni', [file]),
    freeze: () => freezeIn(home),
    thaw: () => thawIn(home),
    async freezeSenders() {
      const senders = await query<{ pid: number }>(
        superuserUrl(address),
        'select pid from pg_stat_replication',
      );
      for (const { pid } of senders) process.kill(pid, 'SIGSTOP');
    },
  };
}

type Watch = Pick<PatroniCluster, 'leader' | 'newLeader' | 'inSync' | 'switchover'>;

function watchCluster(etcd: Etcd, nodes: readonly PatroniNode[], directory: string): Watch {
  const leader = async (): Promise<PatroniNode | undefined> => {
    const name = await etcd.read('service/hub/leader');
    return nodes.find((node) => node.name === name);
  };
  const standbyOf = (of: PatroniNode): PatroniNode => {
    const standby = nodes.find(({ name }) => name !== of.name);
    if (standby === undefined) throw new Error('unreachable: there are two nodes');
    return standby;
  };
  const inSync = async (): Promise<boolean> => {
    const current = await leader();
    const value = await etcd.read('service/hub/sync');

    if (current === undefined || value === undefined) return false;
    const { leader: of, sync_standby: standby } = JSON.parse(value);
    return of === current.name && nodes.some(({ name }) => name === standby && name !== current.name);
  };
  return {
    leader,
    async newLeader(old) {
      const deadline = performance.now() + ELECTION_MS;
      while (performance.now() < deadline) {
        const node = await leader();
        if (node !== undefined && node.name !== old.name) return { node, at: performance.now() };
        await pause(POLL_MS);
      }
      throw new Error(`Patroni elected no leader in ${ELECTION_MS} ms`);
    },
    inSync: () => until(inSync, 'there is a synchronous standby', ELECTION_MS),
    async switchover(from) {
      const file = configurationOf(directory, from);
      const options = ['--master', from.name, '--candidate', standbyOf(from).name, '--force'];
      const { ok, output } = await runCommand('patronictl', ['-c', file, 'switchover', ...options]);
      if (!ok) throw new Error(`patronictl: ${output}`);
    },
  };
}

function configurationOf(directory: string, { name }: NodeAddress): string {
  return join(directory, `${name}.yml`);
}

/** Creates a directory that the programs may write to. It identifies their processes. */
async function ownDirectory(directory: string, name: string, account: Account | undefined): Promise<string> {
  const own = join(directory, name);
  await mkdir(own, { recursive: true, mode: 0o700 });
  if (account !== undefined) await chown(own, account.uid, account.gid);
  return own;
}

function etcdArguments(clientPort: number, peerPort: number): string[] {
  const client = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    ...['--name', 'etcd', '--data-dir', 'data', '--enable-v2'],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...[
      '--listen-peer-urls',
      peer,
      '--initial-advertise-peer-urls',
      peer,
      '--initial-cluster',
      `etcd=${peer}`,
    ],
  ];
}

function superuserUrl({ postgresPort }: NodeAddress): string {
  return `postgres://postgres:${PASSWORD}@127.0.0.1:${postgresPort}/postgres`;
}

async function createHubDatabase(primary: PatroniNode | undefined): Promise<void> {
  if (primary === undefined) throw new Error('there is no primary');
  const url = superuserUrl(primary);
  await query(url, `create role hub login password '${PASSWORD}'`);
  await query(url, 'create database hub owner hub');
}

async function answers(databaseUrl: string): Promise<boolean> {
  return query(databaseUrl, 'select').then(
    () => true,
    () => false,
  );
}
