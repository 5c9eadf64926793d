// A PostgreSQL server created and started with the programs of a directory.
import { randomBytes } from 'node:crypto';
import { chmod, chown, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unprivilegedAccount } from '../../../core/storage/embedded-postgres/account.ts';
import { usableBinaries } from '../../../core/storage/embedded-postgres/binaries.ts';
import { freePort } from '../../../core/storage/embedded-postgres/free-port.ts';
import { runCommand } from '../../../core/storage/embedded-postgres/run-command.ts';
import { makeDataDir } from '../hub/data-dir.ts';

export type TestServer = {
  /** The URL of a superuser. */
  readonly adminUrl: string;
  /** The path of the server's log. */
  readonly log: string;
  stop(): Promise<void>;
};

/** @param bin the directory with initdb, pg_ctl and postgres */
export async function startServerOf(bin: string, maxConnections: number): Promise<TestServer> {
  const directory = await makeDataDir();
  const account = await unprivilegedAccount();
  if (account !== undefined) {
    await chmod(directory, 0o711);
    await chown(directory, account.uid, account.gid);
  }
  // The npm package's libraries lack their symbolic links.
  const { root, major } = await usableBinaries(
    { root: dirname(bin), version: 'of-the-run' },
    directory,
    account,
  );
  const run = async (command: string, args: readonly string[]): Promise<void> => {
    const { ok, output } = await runCommand(join(root, 'bin', command), args, { account, cwd: directory });
    if (!ok) throw new Error(`${join(bin, command)}: ${output}`);
  };
  const [data, log, port] = [join(directory, 'data'), join(directory, 'server.log'), await freePort()];
  const [password, passwordFile] = [randomBytes(12).toString('hex'), join(directory, 'password')];
  await writeFile(passwordFile, password);
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  // Tests open thousands of connections. With 4096 iterations, the default, each costs milliseconds. The setting is new
  // in PostgreSQL 16.
  const settings = Number(major) >= 16 ? ['--set=scram_iterations=1'] : [];
  await run('initdb', [
    '-D',
    data,
    ...access,
    ...settings,
    '--encoding=UTF8',
    '--locale=C.UTF-8',
    '--no-sync',
  ]);
  const options = [
    `--port=${port}`,
    '--listen_addresses=127.0.0.1',
    '--unix_socket_directories=',
    `--max_connections=${maxConnections}`,
    '--fsync=off',
    // Complete pages in the log protect from a crash of the machine only. Dropping a database makes a checkpoint,
    // after which each page would be logged once more.
    '--full_page_writes=off',
    '--timezone=UTC',
    '--log_timezone=UTC',
    // Keeps values out of the log, like the embedded server.
    '--log_error_verbosity=terse',
    '--log_min_error_statement=panic',
  ];
  await run('pg_ctl', ['-D', data, '-o', options.join(' '), '-l', log, '-w', 'start']);
  return {
    adminUrl: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    log,
    async stop() {
      await run('pg_ctl', ['-D', data, '-m', 'immediate', '-w', 'stop']);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
