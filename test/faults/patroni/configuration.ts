// The configuration of Patroni and HAProxy from docs/operations/postgresql-failover.md, with other addresses.
import { parse, stringify } from 'yaml';
import { fencedBlocks, readPage } from '../../docs/markdown.ts';

const PAGE = 'docs/operations/postgresql-failover.md';

/** A server of the cluster. All of them listen on 127.0.0.1. */
export type NodeAddress = {
  readonly name: string;
  readonly postgresPort: number;
  readonly restPort: number;
};

export type PatroniConfiguration = {
  readonly node: NodeAddress;
  readonly etcdPort: number;
  readonly dataDir: string;
  /** For sockets and Patroni's password file. */
  readonly ownDir: string;
  readonly binDir: string;
  readonly password: string;
  /** Seconds until the lock of a dead primary expires. The default is the value on the page. */
  readonly ttl?: number | undefined;
};

/** The members of the page's block that the test changes. It keeps the others. */
type PatroniBlock = {
  name: string;
  etcd: { hosts: string };
  restapi: { listen: string; connect_address: string };
  bootstrap: { dcs: { ttl: number; loop_wait: number; retry_timeout: number } };
  postgresql: {
    listen: string;
    connect_address: string;
    data_dir: string;
    pgpass?: string;
    bin_dir: string;
    authentication: Record<string, { username: string; password: string }>;
    parameters: Record<string, string>;
    pg_hba: string[];
  };
};

export function patroniConfiguration(options: PatroniConfiguration): string {
  const { node, etcdPort, dataDir, ownDir, binDir, password, ttl } = options;
  const config = parse(block('yaml')) as PatroniBlock; // configuration.test.ts checks the members
  const { dcs } = config.bootstrap;
  const { postgresql } = config;
  config.name = node.name;
  config.etcd.hosts = `127.0.0.1:${etcdPort}`;
  config.restapi = listenOn(node.restPort);
  Object.assign(postgresql, listenOn(node.postgresPort), { data_dir: dataDir, bin_dir: binDir });
  postgresql.parameters['unix_socket_directories'] = ownDir;
  // The default is in the home directory, where two Patronis of one user would overwrite each other's file.
  postgresql.pgpass = `${ownDir}/pgpass`;
  postgresql.pg_hba = postgresql.pg_hba.map((line) => line.replace('10.0.0.0/24', '127.0.0.1/32'));
  for (const role of Object.values(postgresql.authentication)) role.password = password;
  if (ttl !== undefined) Object.assign(dcs, timesFor(ttl));
  return stringify(config);
}

/**
 * Patroni requires `ttl` to be at least `loop_wait` plus twice `retry_timeout`. The page uses the same
 * division.
 */
export function timesFor(ttl: number): { ttl: number; loop_wait: number; retry_timeout: number } {
  if (!Number.isSafeInteger(ttl) || ttl < 8)
    throw new Error('ttl has to be a whole number of seconds from 8');
  return { ttl, loop_wait: Math.floor(ttl / 4), retry_timeout: Math.floor(ttl / 4) };
}

/** The times in the page's configuration. */
export function pageTimes(): { ttl: number; loop_wait: number; retry_timeout: number } {
  const { ttl, loop_wait, retry_timeout } = (parse(block('yaml')) as PatroniBlock).bootstrap.dcs;
  return { ttl, loop_wait, retry_timeout };
}

/** @param port the port for clients */
export function haproxyConfiguration(port: number, nodes: readonly NodeAddress[]): string {
  const text = block('haproxy').replace('bind 127.0.0.1:5432', `bind 127.0.0.1:${port}`);
  return nodes.reduce(
    (lines, { postgresPort, restPort }, index) =>
      lines.replace(
        `10.0.0.1${index + 1}:5432 check port 8008`,
        `127.0.0.1:${postgresPort} check port ${restPort}`,
      ),
    text,
  );
}

function listenOn(port: number): { listen: string; connect_address: string } {
  return { listen: `127.0.0.1:${port}`, connect_address: `127.0.0.1:${port}` };
}

function block(language: string): string {
  const [content, ...others] = fencedBlocks(readPage(PAGE), language);
  if (content === undefined || others.length > 0)
    throw new Error(`${PAGE} has to have one block of ${language}`);
  return content;
}
