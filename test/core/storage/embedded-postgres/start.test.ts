// A real embedded PostgreSQL: first starts, restarts, and recovery after a kill.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  access,
  appendFile,
  chmod,
  chown,
  lutimes,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Client } from 'pg';
import { freePort } from '../../../../core/storage/embedded-postgres/free-port.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../../core/storage/embedded-postgres/start.ts';
import { processPlace } from '../../../../lib/process-place.ts';

const root = process.geteuid?.() === 0;

describe('embedded PostgreSQL', () => {
  let directory: string;
  let dataDir: string;

  beforeEach(async () => {
    directory = await temporaryDirectory();
    dataDir = join(directory, 'hub');
  });
  afterEach(() => discard(directory, dataDir));

  it('starts from an empty directory with the database and the user "hub"', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir });
    expect(postgres.reused).to.equal(false);
    expect(new URL(postgres.url)).to.include({ hostname: '127.0.0.1', username: 'hub', pathname: '/hub' });
    const [row] = await query(
      postgres.url,
      `SELECT current_user AS "user", current_database() AS database,
        current_setting('fsync') AS fsync, current_setting('timezone') AS timezone,
        current_setting('listen_addresses') AS addresses, current_setting('unix_socket_directories') AS sockets`,
    );
    expect(row).to.deep.equal({
      user: 'hub',
      database: 'hub',
      fsync: 'on',
      timezone: 'UTC',
      addresses: '127.0.0.1',
      sockets: '',
    });
  });

  it('creates segments of 4 MB, with the default minimum and maximum of the write-ahead log', async () => {
    const { url } = await startEmbeddedPostgres({ dataDir });
    const rows = await query(
      url,
      `SELECT name, setting || unit AS value FROM pg_settings WHERE name LIKE '%_wal_size' OR name = 'wal_segment_size'
       ORDER BY name`,
    );
    expect(rows).to.deep.equal([
      { name: 'max_wal_size', value: '1024MB' },
      { name: 'min_wal_size', value: '80MB' },
      { name: 'wal_segment_size', value: '4194304B' },
    ]);
  });

  it('accepts the configured number of connections', async () => {
    const { url } = await startEmbeddedPostgres({ dataDir, maxConnections: 23 });
    const [row] = await query(url, `SELECT current_setting('max_connections') AS connections`);
    expect(row).to.deep.equal({ connections: '23' });
  });

  (root ? it : it.skip)('runs as root from a directory that only root can enter', async () => {
    await chmod(directory, 0o700);
    const first = await startEmbeddedPostgres({ dataDir });
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS number');
    await first.stop();
    const second = await startEmbeddedPostgres({ dataDir });
    expect(await query(second.url, 'SELECT number FROM kept')).to.deep.equal([{ number: 7 }]);
    expect(second.location).to.equal(await realpath(join(dataDir, 'postgres')));
    expect(second.location).not.to.include(directory);
    expect((await stat(directory)).mode & 0o777, 'the mode of the directory').to.equal(0o700);
    expect((await stat(join(second.location, 'data'))).uid, 'the owner of the data').not.to.equal(0);
  });

  (root ? it : it.skip)('runs as a user who is not root', async function () {
    const nobody = { uid: idOf('-u', 'nobody'), gid: idOf('-g', 'nobody') };
    const probe = spawnSync(process.execPath, ['--version'], { ...nobody, cwd: '/' });
    if (probe.status !== 0) this.skip(); // this checkout is closed to other users
    await mkdir(dataDir, { mode: 0o700 });
    await chown(dataDir, nobody.uid, nobody.gid);
    const { child, postgres } = await startInChild(dataDir, nobody);
    expect(await query(postgres.url, 'SELECT 1 AS one')).to.deep.equal([{ one: 1 }]);
    expect(postgres.location).to.equal(join(dataDir, 'postgres'));
    expect(await stat(join(postgres.location, 'data'))).to.include(nobody);
    child.stdin?.end();
    expect(await once(child, 'exit')).to.deep.equal([0, null]);
    expect(await answers(postgres.url), 'it answers').to.equal(false);
  });

  it('starts after an interrupted first start', async () => {
    const { pid } = spawnSync('true');
    const draft = join(dataDir, `postgres.${processPlace()}-${pid}-0123abcd.part`);
    await mkdir(join(draft, 'data/base'), { recursive: true });
    await writeFile(join(draft, 'data/PG_VERSION'), '18\n');
    const postgres = await startEmbeddedPostgres({ dataDir });
    expect(await answers(postgres.url)).to.equal(true);
    expect(await exists(draft)).to.equal(false);
  });

  it('removes old drafts of other containers and of earlier versions when it is created', async () => {
    const old = ['postgres.new', 'postgres.00000000-7-0123abcd.part'];
    const kept = ['postgres.00000000-8-0123abcd.part', 'postgres.backup'];
    for (const name of [...old, ...kept]) await mkdir(join(dataDir, name, 'data'), { recursive: true });
    const link = 'postgres.00000000-9-0123abcd.part';
    await symlink(join(directory, 'gone'), join(dataDir, link));
    const earlier = new Date(Date.now() - 3_700_000);
    for (const name of [...old, link, 'postgres.backup'])
      await lutimes(join(dataDir, name), earlier, earlier);
    await startEmbeddedPostgres({ dataDir });
    expect(await readdir(dataDir)).to.have.members(['postgres', ...kept]);
  });

  for (const mode of root ? [0o755, 0o700] : [0o755]) {
    it(`is created once by two programs at the same time in a directory of mode ${mode.toString(8)}`, async () => {
      await chmod(directory, mode);
      const both = await Promise.all([
        startEmbeddedPostgres({ dataDir }),
        startEmbeddedPostgres({ dataDir }),
      ]);
      const [first, second] = both;
      expect(first.url).to.equal(second.url);
      expect(both.map(({ reused }) => reused).sort()).to.deep.equal([false, true]);
      expect(await answers(first.url)).to.equal(true);
      expect(await readdir(dataDir)).to.deep.equal(['postgres']);
    });
  }

  it('names the link if its target is missing', async () => {
    await mkdir(dataDir);
    await symlink(join(directory, 'gone'), join(dataDir, 'postgres'));
    const error = await rejection(startEmbeddedPostgres({ dataDir }));
    expect(error.message).to.include(`${join(dataDir, 'postgres')} links to a directory that is gone`);
  });
});

describe('embedded PostgreSQL on an existing cluster', () => {
  let directory: string;
  let dataDir: string;

  before(async () => {
    directory = await temporaryDirectory();
    dataDir = join(directory, 'hub');
    const postgres = await startEmbeddedPostgres({ dataDir });
    await query(postgres.url, 'CREATE TABLE kept AS SELECT 7 AS number');
    await postgres.stop();
  });
  afterEach(() => stopLeftOver(dataDir));
  after(() => discard(directory, dataDir));

  it('starts again with its data', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir });
    expect(postgres.reused).to.equal(false);
    expect(await query(postgres.url, 'SELECT number FROM kept')).to.deep.equal([{ number: 7 }]);
  });

  it('requires a password that other users and command lines do not see', async () => {
    const { url, location } = await startEmbeddedPostgres({ dataDir });
    const { password } = new URL(url);
    expect(password).to.match(/^[0-9a-f]{48}$/);
    const error = await rejection(query(url.replace(password, 'guessed'), 'SELECT 1'));
    expect(error.message).to.include('password authentication failed');
    expect((await stat(join(location, 'password'))).mode & 0o777).to.equal(0o600);
    const { stdout } = spawnSync('ps', ['-e', '-o', 'args'], { encoding: 'utf8' });
    expect(stdout).to.include('--listen_addresses=127.0.0.1');
    expect(stdout).not.to.include(password);
  });

  it('logs that a statement failed, but not its values', async () => {
    const { url, location } = await startEmbeddedPostgres({ dataDir });
    await query(url, 'CREATE TABLE IF NOT EXISTS guarded (secret text CHECK (secret IS NULL))');
    await rejection(query(url, "INSERT INTO guarded VALUES ('canary-of-a-secret')"));
    const log = await readFile(join(location, 'data/server.log'), 'utf8');
    expect(log).to.include('violates check constraint "guarded_secret_check"').and.not.include('canary');
  });

  it('keeps one old log, and leaves a log that another program has just opened for its server', async () => {
    const log = join(dataDir, 'postgres/data/server.log');
    for (const [content, isKept] of [
      ['the log of the last server\n', false],
      ['', true],
    ] as const) {
      await writeFile(log, content);
      const { ino } = await stat(log);
      const postgres = await startEmbeddedPostgres({ dataDir });
      expect((await stat(log)).ino === ino, 'the log is the same file').to.equal(isKept);
      await postgres.stop();
      expect(await readFile(`${log}.old`, 'utf8')).to.equal('the log of the last server\n');
    }
  });

  it('stops, also repeatedly', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir });
    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();
    expect(await answers(postgres.url)).to.equal(false);
  });

  it('closes open connections when it stops', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir });
    const client = await connect(postgres.url);
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve);
    });
    await postgres.stop();
    await lost;
  });

  it('is found and reused after the hub was killed', async () => {
    const { child, postgres } = await startInChild(dataDir);
    const client = await connect(postgres.url);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const found = await startEmbeddedPostgres({ dataDir });
    expect(found).to.include({ reused: true, url: postgres.url, location: postgres.location });
    expect((await client.query('SELECT number FROM kept')).rows, 'on the old connection').to.deep.equal([
      { number: 7 },
    ]);
    await client.end();
    await found.stop();
    expect(await answers(found.url), 'it answers after stop').to.equal(false);
  });

  it('is started once by two programs at the same time', async () => {
    const both = await Promise.all([startEmbeddedPostgres({ dataDir }), startEmbeddedPostgres({ dataDir })]);
    const [first, second] = both;
    expect(first.url).to.equal(second.url);
    expect(both.map(({ reused }) => reused).sort()).to.deep.equal([false, true]);
    expect(await answers(first.url)).to.equal(true);
  });

  it('starts again with all commits after it was killed', async () => {
    const killed = await startEmbeddedPostgres({ dataDir });
    const client = await connect(killed.url);
    await client.query('CREATE TABLE IF NOT EXISTS late (number int)');
    await client.query('INSERT INTO late VALUES (8)');
    process.kill(await serverPid(killed), 'SIGKILL');
    const postgres = await startEmbeddedPostgres({ dataDir });
    expect(postgres.reused).to.equal(false);
    expect(await query(postgres.url, 'SELECT number FROM late')).to.deep.equal([{ number: 8 }]);
  });

  it('can be stopped after it was killed', async () => {
    const postgres = await startEmbeddedPostgres({ dataDir });
    process.kill(await serverPid(postgres), 'SIGKILL');
    await postgres.stop();
  });

  (process.platform === 'linux' ? it : it.skip)(
    'starts although the process number in a stale lock file belongs to another program',
    async () => {
      const data = await realpath(join(dataDir, 'postgres/data'));
      const { uid, gid } = await stat(data);
      const other = spawn('sleep', ['60'], { cwd: '/', ...(root ? { uid, gid } : {}) });
      try {
        await once(other, 'spawn');
        await writeFile(
          join(data, 'postmaster.pid'),
          `${other.pid}\n${data}\n1\n5432\n\n127.0.0.1\n1 1\nready   \n`,
        );
        const postgres = await startEmbeddedPostgres({ dataDir });
        expect(postgres.reused).to.equal(false);
        expect(await answers(postgres.url)).to.equal(true);
        await postgres.stop();
        expect(other.exitCode ?? other.signalCode, 'how the other program ended').to.equal(null);
      } finally {
        other.kill('SIGKILL');
      }
    },
  );

  it('names a stale lock file whose process number belongs to another PostgreSQL', async () => {
    const [data, port] = [await realpath(join(dataDir, 'postgres/data')), await freePort()];
    const program = ['-e', 'setTimeout(() => {}, 60_000)', '--', `--port=${port}`];
    const other = spawn(process.execPath, program, { argv0: 'postgres', stdio: 'ignore' });
    try {
      await once(other, 'spawn');
      const file = join(data, 'postmaster.pid');
      await writeFile(file, `${other.pid}\n${data}\n1\n${port}\n\n127.0.0.1\n1 1\nready   \n`);
      const error = await rejection(startEmbeddedPostgres({ dataDir }));
      expect(error.message).to.equal(
        `${file} names process ${other.pid} as the PostgreSQL server on port ${port}, and it does not listen ` +
          'there. If it is another program, as after a power loss, remove that file',
      );
      await unlink(file);
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('leaves the lock file that another server is just writing', async () => {
    const lock = join(dataDir, 'postgres/data/postmaster.pid');
    await writeFile(lock, '');
    let attempts = 0;
    const pickPort = async (): Promise<number> => {
      if (++attempts === 2) await unlink(lock); // the other server has ended; it throws if there is no lock file
      return await freePort();
    };
    const postgres = await startEmbeddedPostgres({ dataDir, pickPort });
    expect(attempts).to.equal(2);
    expect(await answers(postgres.url)).to.equal(true);
  });

  it('names the lock file if PostgreSQL cannot read it', async () => {
    const lock = join(dataDir, 'postgres/data/postmaster.pid');
    await writeFile(lock, '\0'.repeat(60));
    const error = await rejection(startEmbeddedPostgres({ dataDir }));
    expect(error.message).to.contain(`If no PostgreSQL uses it, remove ${await realpath(lock)}`);
    await unlink(lock);
  });

  for (const [content, what] of [
    ['', 'an empty lock file'],
    ['\0'.repeat(60), 'a lock file that PostgreSQL cannot read'],
  ] as const) {
    it(`starts after a power loss has left ${what}`, async () => {
      const lock = join(dataDir, 'postgres/data/postmaster.pid');
      await writeFile(lock, content);
      const earlier = new Date(Date.now() - 11_000);
      await utimes(lock, earlier, earlier);
      let attempts = 0;
      const pickPort = async (): Promise<number> => {
        attempts++;
        return await freePort();
      };
      const postgres = await startEmbeddedPostgres({ dataDir, pickPort });
      expect(attempts).to.equal(1);
      expect(await answers(postgres.url)).to.equal(true);
    });
  }

  it('leaves the lock file of a server in single-user mode', async () => {
    const data = await realpath(join(dataDir, 'postgres/data'));
    const lock = join(data, 'postmaster.pid');
    const { uid, gid } = await stat(data);
    const other = spawn('sleep', ['60'], { cwd: '/', ...(root ? { uid, gid } : {}) });
    try {
      await once(other, 'spawn');
      await writeFile(lock, `-${other.pid}\n${data}\n1\n`);
      const earlier = new Date(Date.now() - 11_000);
      await utimes(lock, earlier, earlier);
      let attempts = 0;
      const pickPort = async (): Promise<number> => {
        if (++attempts === 2) {
          other.kill('SIGKILL');
          await once(other, 'exit');
        }
        return await freePort();
      };
      const postgres = await startEmbeddedPostgres({ dataDir, pickPort });
      expect(attempts).to.equal(2);
      expect(await answers(postgres.url)).to.equal(true);
    } finally {
      other.kill('SIGKILL');
    }
  });

  it('uses another port if its port is taken', async () => {
    const [taken, free] = await Promise.all([listen(), listen()]);
    const [takenPort, port] = [portOf(taken), portOf(free)];
    await close(free);
    const ports = [takenPort, port];
    try {
      const postgres = await startEmbeddedPostgres({ dataDir, pickPort: async () => ports.shift() ?? 0 });
      expect(new URL(postgres.url).port).to.equal(String(port));
      expect(await answers(postgres.url)).to.equal(true);
    } finally {
      await close(taken);
    }
  });

  it('reports why it does not start', async () => {
    const configuration = join(dataDir, 'postgres/data/postgresql.conf');
    const before = await readFile(configuration, 'utf8');
    try {
      await appendFile(configuration, '\nno_such_setting = 1\n');
      const error = await rejection(startEmbeddedPostgres({ dataDir }));
      expect(error.message).to.include('unrecognized configuration parameter "no_such_setting"');
    } finally {
      await writeFile(configuration, before);
    }
  });

  it('refuses a cluster of another major version', async () => {
    const version = join(dataDir, 'postgres/data/PG_VERSION');
    const before = await readFile(version, 'utf8');
    try {
      await writeFile(version, '17\n');
      const error = await rejection(startEmbeddedPostgres({ dataDir }));
      expect(error.message).to.match(/was made by PostgreSQL 17, and this hub contains PostgreSQL \d+/);
    } finally {
      await writeFile(version, before);
    }
  });
});

async function temporaryDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'hub-postgres-')));
  await chmod(directory, 0o755);
  return directory;
}

const children: ChildProcess[] = [];

/** Ends what a failed test left running, or what its test does not care to end. */
async function stopLeftOver(dataDir: string): Promise<void> {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  if (!(await exists(join(dataDir, 'postgres/data/postmaster.pid')))) return;
  await (await startEmbeddedPostgres({ dataDir })).stop();
}

async function discard(directory: string, dataDir: string): Promise<void> {
  await stopLeftOver(dataDir);
  const location = await realpath(join(dataDir, 'postgres')).catch(() => directory); // nothing was started
  await rm(location, { recursive: true, force: true });
  await rm(directory, { recursive: true, force: true });
}

async function startInChild(
  dataDir: string,
  account: { uid?: number; gid?: number } = {},
): Promise<{ child: ChildProcess; postgres: EmbeddedPostgres }> {
  const script = join(import.meta.dirname, 'postgres-child.ts');
  const child = spawn(process.execPath, [script, dataDir], {
    ...account,
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the child ended with status ${code}`))),
  ]);
  return { child, postgres: JSON.parse(line) };
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {}); // the server may be killed under it
  await client.connect();
  return client;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = await connect(url);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function answers(url: string): Promise<boolean> {
  return await query(url, 'SELECT 1').then(
    () => true,
    (error) => {
      if (error.code === 'ECONNREFUSED') return false;
      throw error;
    },
  );
}

async function serverPid({ location }: EmbeddedPostgres): Promise<number> {
  return Number((await readFile(join(location, 'data/postmaster.pid'), 'utf8')).split('\n')[0]);
}

function idOf(flag: string, name: string): number {
  return Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

async function listen(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port; // it listens on TCP
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}

async function rejection(work: Promise<unknown>): Promise<Error> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error('it did not fail');
}
