// One hub per data directory: the lock that lives as long as the hub does.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, open, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect } from 'chai';
import pg from 'pg';
import { type DataDir, openDataDir } from '../../../../core/storage/data-dir.ts';
import { postgresForCommand } from '../../../../core/storage/embedded-postgres/for-command.ts';
import { USE_LOCK } from '../../../../core/storage/embedded-postgres/server-locks.ts';
import { startEmbeddedPostgres } from '../../../../core/storage/embedded-postgres/start.ts';
import { type OwnedPostgres, ownPostgres } from '../../../../core/storage/embedded-postgres/supervise.ts';
import { discard, makeDataDir, postgresRuns } from '../../../support/hub/data-dir.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('the PostgreSQL of a data directory', () => {
  let dataDir: DataDir;
  before(async () => {
    dataDir = await openDataDir(await makeDataDir());
  });
  after(() => discard(dataDir.path));

  const own = (onLost: (error: Error) => void = () => {}): Promise<OwnedPostgres> =>
    ownPostgres({ dataDir, log: () => {}, onLost });

  /** Whether a hub owns the server at this address. It holds its lock exclusively; commands share another one. */
  const isOwned = async (url: string): Promise<boolean> => {
    const locks = `select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock'`;
    return (await query(url, locks).catch(() => [])).length === 1;
  };

  /** Kills the process of the server that serves the connection of the lock. The server recovers. */
  const crashOwnerConnection = async (url: string): Promise<void> => {
    const [owning] = await query<{ pid: number }>(
      url,
      `select pid from pg_stat_activity where application_name = 'hub owner'`,
    );
    process.kill(owning?.pid ?? 0, 'SIGKILL');
  };

  it('belongs to one hub, and a second hub does not disturb it', async () => {
    const first = await own();
    const refusal = await own().catch((error) => error);
    expect(refusal.message).to.equal(
      `another hub runs on the data directory ${dataDir.path}: stop it, or choose another with --data-dir`,
    );
    expect(await query(first.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await first.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('is not stopped by the hub that started it but came second', async () => {
    const script = join(import.meta.dirname, 'slow-owner.ts');
    const slow = spawn(process.execPath, [script, dataDir.path], { stdio: ['pipe', 'pipe', 'pipe'] });
    const [exited, complaint] = [once(slow, 'exit'), text(slow.stderr)];
    await Promise.race([once(slow.stdout, 'data'), exited]); // it has started the server
    const first = await own();
    slow.stdin.end();
    expect(await exited, await complaint).to.deep.equal([1, null]);
    expect(await complaint).to.contain('another hub runs on the data directory');
    expect(await query(first.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await first.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('is not stopped by the hub that started it but cannot connect, while a command uses it', async () => {
    const script = join(import.meta.dirname, 'slow-owner.ts');
    const slow = spawn(process.execPath, [script, dataDir.path], { stdio: ['pipe', 'pipe', 'pipe'] });
    const [exited, complaint] = [once(slow, 'exit'), text(slow.stderr)];
    await Promise.race([once(slow.stdout, 'data'), exited]); // it has started the server
    const command = await postgresForCommand(dataDir.path);
    const client = new pg.Client({ connectionString: command.url });
    client.on('error', () => {}); // the next query reports it
    await client.connect();
    await client.query('alter role hub nologin');
    slow.stdin.end();
    expect(await exited, await complaint).to.deep.equal([1, null]);
    expect(await complaint).to.contain('role "hub" is not permitted to log in');
    await client.query('alter role hub login');
    await client.end();
    await command.close();
    expect(await postgresRuns(dataDir.path), 'it runs, because a hub has started it').to.equal(true);
    const owner = await own();
    await owner.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('starts again if a command stops it while a hub starts', async () => {
    const server = await startEmbeddedPostgres({ dataDir: dataDir.path });
    const command = new pg.Client({ connectionString: server.url });
    command.on('error', () => {}); // the server stops
    await command.connect();
    await command.query('select pg_advisory_lock($1)', [USE_LOCK]);
    const owning = own();
    const waits = `select from pg_locks where locktype = 'advisory' and not granted`;
    await until(async () => (await command.query(waits)).rowCount === 1, 'the hub waits');
    await server.stop();
    const owner = await owning;
    expect(await query(owner.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await owner.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('belongs to its hub until it has stopped', async () => {
    const lines: string[] = [];
    const owner = await ownPostgres({ dataDir, log: (line) => lines.push(line), onLost: () => {} });
    const other = new pg.Client({ connectionString: owner.url });
    other.on('error', () => {}); // the server stops
    await other.connect();
    const takes = `select pg_advisory_lock(objid::bigint) from pg_locks where locktype = 'advisory'`;
    const taking = other.query(takes).then(
      () => 'it has the lock',
      (error) => error.code,
    );
    const waits = `select from pg_locks where locktype = 'advisory' and not granted`;
    await until(async () => (await query(owner.url, waits)).length === 1, 'another hub waits for the lock');
    await owner.stop();
    expect(await taking).to.equal('57P01'); // the server stops
    expect(lines.join()).not.to.contain('restarting');
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('is free again after its hub was killed', async () => {
    const first = await own();
    // What the end of a process does to its connections.
    await query(
      first.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hub owner'`,
    );
    const holders = `select from pg_locks where locktype = 'advisory'`;
    await until(async () => (await query(first.url, holders)).length === 0, 'the lock is free');
    const second = await own();
    expect(second.url).to.equal(first.url);
    await first.stop();
    expect(await query(second.url, 'select 1 as one'), 'the server of the second hub').to.have.length(1);
    await second.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('restarts at the same address after it is killed, and still belongs to its hub', async () => {
    const owner = await own();
    const [pid] = (await readFile(join(dataDir.path, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
    await until(() => isOwned(owner.url), 'PostgreSQL is running again, and the lock is held');
    const refusal = await own().catch((error) => error);
    expect(refusal.message).to.contain('another hub runs on the data directory');
    await owner.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('restarts at the same address although a command has started it at another one', async () => {
    const script = join(import.meta.dirname, 'slow-owner.ts');
    const hub = spawn(process.execPath, [script, dataDir.path], { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = once(hub, 'exit');
    try {
      const [line] = await once(hub.stdout, 'data');
      const [, port = ''] = / on 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      hub.stdin.end();
      const { url } = await startEmbeddedPostgres({ dataDir: dataDir.path });
      await until(() => isOwned(url), 'the hub owns the server');
      hub.kill('SIGSTOP'); // the command is faster
      const [pid] = (await readFile(join(dataDir.path, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGKILL');
      const command = await postgresForCommand(dataDir.path);
      expect(new URL(command.url).port).not.to.equal(port);
      hub.kill('SIGCONT');
      await until(() => isOwned(url), 'the hub owns a server at the address of the first one');
      await command.close();
      expect(await isOwned(url), 'the hub still owns it after the command').to.equal(true);
    } finally {
      hub.kill('SIGKILL');
      await exited;
    }
    const owner = await own();
    await owner.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('still belongs to its hub after a long recovery from the crash of one of its processes', async () => {
    const lost: Error[] = [];
    const owner = await own((error) => lost.push(error));
    const endRecovery = await holdRecovery(join(dataDir.path, 'postgres/data'));
    await crashOwnerConnection(owner.url);
    const log = join(dataDir.path, 'postgres/data/server.log');
    const refusals = async () =>
      (await readFile(log, 'utf8')).split('FATAL:  the database system is').length - 1;
    const hasTried = async () => lost.length > 0 || (await refusals()) > 5;
    await until(hasTried, 'the hub has tried to connect more often than it restarts a server', 60_000);
    await endRecovery();
    await until(async () => lost.length > 0 || (await isOwned(owner.url)), 'the lock is held');
    expect(lost).to.deep.equal([]);
    await owner.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('stops with its hub just after the crash of one of its processes', async () => {
    const lines: string[] = [];
    const owner = await ownPostgres({ dataDir, log: (line) => lines.push(line), onLost: () => {} });
    await crashOwnerConnection(owner.url);
    await until(() => lines.join().includes('restarting'), 'the hub has lost its lock');
    await owner.stop();
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });

  it('stops when its hub exits just after the crash of one of its processes', async () => {
    const script = join(import.meta.dirname, 'exiting-owner.ts');
    const child = spawn(process.execPath, [script, dataDir.path], { stdio: ['pipe', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk;
    });
    const url = () => /^postgres\S+$/m.exec(printed)?.[0] ?? '';
    await until(() => url() !== '', 'the hub runs');
    await crashOwnerConnection(url());
    await until(() => printed.includes('restarting'), 'the hub has lost its lock');
    const exited = once(child, 'exit');
    child.stdin.end();
    await exited;
    await until(async () => !(await postgresRuns(dataDir.path)), 'PostgreSQL has stopped');
  });

  it('reports to its hub that it cannot restart', async () => {
    const lost = Promise.withResolvers<Error>();
    const owner = await own(lost.resolve);
    const taker = async (): Promise<OwnedPostgres> => own().catch(taker);
    const taking = taker();
    await query(
      owner.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hub owner'`,
    );
    const second = await taking;
    expect((await lost.promise).message).to.match(/stopped and cannot be restarted$/);
    await second.stop();
    await owner.stop();
  });

  it('is stopped again if it starts but accepts no connections at any attempt', async () => {
    /** Not in the database of the hub. */
    const change = async (statement: string): Promise<void> => {
      const server = await startEmbeddedPostgres({ dataDir: dataDir.path });
      await query(server.url.replace('/hub?', '/postgres?'), statement);
      await server.stop();
    };
    await change('alter database hub allow_connections false');
    const refusal = await own().catch((error) => error);
    expect(refusal.message).to.contain('database "hub" is not currently accepting connections');
    expect(await postgresRuns(dataDir.path)).to.equal(false);
    await change('alter database hub allow_connections true');
  });

  it('is stopped again if it starts but rejects connections', async () => {
    await writeFile(join(dataDir.path, 'postgres/password'), 'not the one');
    const refusal = await own().catch((error) => error);
    expect(refusal.message).to.contain('password authentication failed');
    expect(await postgresRuns(dataDir.path)).to.equal(false);
  });
});

/**
 * Makes the next recovery of the cluster wait until the returned function is called: the recovery reads a pipe in
 * place of a file, before it reads the write-ahead log.
 */
async function holdRecovery(data: string): Promise<() => Promise<void>> {
  const path = join(data, 'pg_logical/replorigin_checkpoint');
  const original = `${path}.original`;
  await rename(path, original);
  await promisify(execFile)('mkfifo', [path]);
  await chmod(path, 0o666); // another user runs the server if the tests run as root
  return async () => {
    const contents = await readFile(original);
    await using pipe = await open(path, 'w');
    // Before the recovery reads on: the checkpoint at its end replaces only a file.
    await rename(original, path);
    await pipe.write(contents);
  };
}
