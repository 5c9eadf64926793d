// A primary with TLS and its hot standby without TLS. Both are Debian's PostgreSQL 15, which also contains
// psql.
import { existsSync } from 'node:fs';
import { appendFile, chmod, chown, copyFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { unprivilegedAccount } from '../../../core/storage/embedded-postgres/account.ts';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';
import { runCommand } from '../../../core/storage/embedded-postgres/run-command.ts';
import { makeDataDir } from '../hub/data-dir.ts';
import type { Pair } from '../network/certificates.ts';
import { query } from './databases.ts';

export type PostgresPair = {
  readonly primaryPort: number;
  readonly standbyPort: number;
  /** The directory of both servers' sockets. */
  readonly socketDir: string;
  /** Shuts down the primary at once, and promotes the standby. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
};

export const POSTGRES_15_BIN = process.env['POSTGRES_15_BIN'] || '/usr/lib/postgresql/15/bin';

// Roles with one permitted login method each, and one that the standby rejects.
const HBA = `
local   all  password_only  scram-sha-256
local   all  all            trust
hostssl all  certified      all cert
hostssl all  tls_only       all trust
host    all  tls_only       all reject
hostnossl all plain_only    all trust
host    all  plain_only     all reject
host    all  password_only  all scram-sha-256
host    all  all            all trust
local   replication all     trust
host    replication all     all trust
`;

/** `ca` issues the clients' certificates. Without PostgreSQL 15 the test is pending. */
export async function startPostgresPair(
  test: Context,
  { certificate, ca }: { readonly certificate: Pair; readonly ca: string },
): Promise<PostgresPair> {
  if (!existsSync(join(POSTGRES_15_BIN, 'initdb'))) {
    process.stderr.write('      pending: no PostgreSQL 15: set POSTGRES_15_BIN\n');
    return test.skip();
  }
  await using undo = new AsyncDisposableStack();
  const directory = await makeDataDir();
  undo.defer(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o711);
  const account = await unprivilegedAccount();
  if (account !== undefined) await chown(directory, account.uid, account.gid);
  const run = async (command: string, args: readonly string[]): Promise<void> => {
    const { ok, output } = await runCommand(join(POSTGRES_15_BIN, command), args, {
      account,
      cwd: directory,
    });
    if (!ok) throw new Error(`${command}: ${output}`);
  };
  const [primary, standby] = [join(directory, 'primary'), join(directory, 'standby')];
  const ports = [await freePort(), await freePort()] as const;
  const start = async (data: string, port: number, ssl: 'on' | 'off'): Promise<void> => {
    const options = `-p ${port} -k ${directory} -c fsync=off -c listen_addresses=127.0.0.1 -c ssl=${ssl}`;
    await run('pg_ctl', ['-D', data, '-l', `${data}.log`, '-w', '-o', options, 'start']);
    undo.defer(() => stop(data));
  };
  const stop = async (data: string): Promise<void> => {
    if (existsSync(join(data, 'postmaster.pid')))
      await run('pg_ctl', ['-D', data, '-m', 'immediate', '-w', 'stop']);
  };

  await run('initdb', ['-D', primary, '--auth=trust', '-U', 'postgres', '--no-sync']);
  for (const [source, name] of [
    [certificate.cert, 'server.crt'],
    [certificate.key, 'server.key'],
    [ca, 'ca.crt'],
  ] as const) {
    const path = join(primary, name);
    await copyFile(source, path);
    await chmod(path, 0o600);
    if (account !== undefined) await chown(path, account.uid, account.gid);
  }
  await writeFile(join(primary, 'pg_hba.conf'), HBA);
  await appendFile(join(primary, 'postgresql.conf'), "ssl_ca_file = 'ca.crt'\n");
  await start(primary, ports[0], 'on');
  const admin = `postgres://postgres@127.0.0.1:${ports[0]}/postgres`;
  await query(
    admin,
    `create role certified login; create role tls_only login; create role plain_only login;
    create role outcast login; create role password_only login password 'correct-horse'`,
  );
  await query(admin, 'create database hub');
  const copied = ['-D', standby, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
  await run('pg_basebackup', [...copied, '-h', directory, '-p', String(ports[0]), '-U', 'postgres']);
  await writeFile(join(standby, 'pg_hba.conf'), `host all outcast all reject\n${HBA}`);
  await start(standby, ports[1], 'off');
  const resources = undo.move();
  return {
    primaryPort: ports[0],
    standbyPort: ports[1],
    socketDir: directory,
    async failOver() {
      await stop(primary);
      await run('pg_ctl', ['-D', standby, '-w', 'promote']);
    },
    stop: () => resources.disposeAsync(),
  };
}
