// A server of the oldest PostgreSQL that a hub works on, with a role that owns its databases and nothing more.
import { existsSync } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { freePort } from '../../core/storage/free-port.ts';
import { unprivilegedAccount } from '../../core/storage/postgres-account.ts';
import { runCommand } from '../../core/storage/run-command.ts';
import { makeDataDir } from './data-dir.ts';
import { query } from './postgres.ts';

export type Postgres15 = {
  /** The URL of a new, empty database of the plain role. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
};

/** Where Debian installs it; POSTGRES_15_BIN names another place. */
const BIN = process.env['POSTGRES_15_BIN'] || '/usr/lib/postgresql/15/bin';

/** Starts it, for as long as `stop` is not called. Where it is not installed the test is pending. */
export async function startPostgres15(test: Context): Promise<Postgres15> {
  if (!existsSync(join(BIN, 'initdb'))) {
    process.stderr.write('      pending: no PostgreSQL 15: set POSTGRES_15_BIN\n');
    return test.skip();
  }
  const directory = await makeDataDir();
  const account = await unprivilegedAccount();
  if (account !== undefined) await chown(directory, account.uid, account.gid);
  const data = join(directory, 'data');
  const port = await freePort();
  const run = async (command: string, args: readonly string[]): Promise<void> => {
    const { ok, output } = await runCommand(join(BIN, command), args, { account, cwd: directory });
    if (!ok) throw new Error(`${command}: ${output}`);
  };
  await run('initdb', ['-D', data, '--auth=trust', '-U', 'postgres', '--no-sync']);
  const options = `-p ${port} -k ${directory} -c fsync=off -c listen_addresses=127.0.0.1`;
  await run('pg_ctl', ['-D', data, '-o', options, '-l', join(directory, 'log'), '-w', 'start']);
  const admin = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await query(admin, 'create role plain login');
  let count = 0;
  return {
    async createDatabase() {
      const name = `hub_${++count}`;
      await query(admin, `create database ${name} owner plain`);
      return `postgres://plain@127.0.0.1:${port}/${name}`;
    },
    async stop() {
      await run('pg_ctl', ['-D', data, '-m', 'immediate', '-w', 'stop']);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
