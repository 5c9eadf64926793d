// Connections by operators' addresses: equal to those of psql, on servers with and without TLS.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { connect as connectPlain, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'chai';
import { createClient } from '../../../../core/storage/connection/client.ts';
import { parseConnectionString } from '../../../../core/storage/connection/connection-string.ts';
import { openDatabase } from '../../../../core/storage/database.ts';
import { freePort } from '../../../../core/storage/embedded-postgres/free-port.ts';
import { storageEntities } from '../../../../core/storage/schema/entities.ts';
import { isDatabaseUnavailable } from '../../../../core/storage/sql/transient-errors.ts';
import {
  type Certificates,
  type Issuer,
  makeCertificates,
  type Pair,
} from '../../../support/network/certificates.ts';
import { type PostgresPair, startPostgresPair } from '../../../support/postgres/postgres-pair.ts';
import { requireProgram } from '../../../support/programs.ts';
import { until } from '../../../support/until.ts';

/** How a connection came out: which server, and by TLS or not; or that it did not. */
type Result = string;

const LOOK = `select coalesce(inet_server_port()::text, 'socket') || case when ssl then ' by TLS' else '' end as result
  from pg_stat_ssl where pid = pg_backend_pid()`;

async function connect(url: string, environment: NodeJS.ProcessEnv = {}): Promise<Result> {
  const client = createClient(parseConnectionString(url, environment), 'hub test');
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<{ result: string }>(LOOK)).rows[0]?.result ?? 'nothing';
  } finally {
    await client.end();
  }
}

const ours = (url: string, environment?: NodeJS.ProcessEnv): Promise<Result> =>
  connect(url, environment).catch(() => 'refused');

const refusal = (url: string, environment?: NodeJS.ProcessEnv): Promise<string> =>
  connect(url, environment).catch((error: Error) => error.message);

function psql(url: string, environment: NodeJS.ProcessEnv = {}): Promise<Result> {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', ...environment };
  return new Promise((resolve) => {
    execFile('psql', ['--no-psqlrc', '--no-password', '-At', '-c', LOOK, url], { env }, (error, stdout) => {
      resolve(error === null ? stdout.trim() : 'refused');
    });
  });
}

describe('a connection to PostgreSQL', () => {
  let certificates: Certificates;
  let issuer: Issuer;
  let stranger: Issuer;
  let own: Pair;
  let servers: PostgresPair;
  let primary: number;
  let standby: number;
  let dead: number;

  before(async function () {
    requireProgram(this, 'psql', '--version');
    certificates = await makeCertificates();
    issuer = await certificates.createIssuer('good');
    stranger = await certificates.createIssuer('stranger');
    own = await issuer.issue('/CN=certified');
    const certificate = await issuer.issue('/CN=server', 2, 'DNS:localhost');
    servers = await startPostgresPair(this, { certificate, ca: issuer.ca });
    [primary, standby] = [servers.primaryPort, servers.standbyPort];
    dead = await freePort();
  });
  after(async () => {
    await servers?.stop();
    await certificates?.remove();
  });

  const url = (hosts: string, parameters = '', user = 'postgres') =>
    `postgresql://${user}@${hosts}/hub${parameters && `?${parameters}`}`;

  /** Each of them: the result of psql, which has to be one of those that are expected of it at all. */
  async function compare(
    urls: readonly string[],
    environment?: NodeJS.ProcessEnv,
  ): Promise<Map<string, Result>> {
    const results = new Map<string, Result>();
    for (const each of urls) {
      const [mine, theirs] = await Promise.all([ours(each, environment), psql(each, environment)]);
      expect(mine, each).to.equal(theirs);
      results.set(each, mine);
    }
    return results;
  }

  it('negotiates and verifies TLS like psql for each sslmode', async () => {
    const modes = ['', 'disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
    const roots = ['', `sslrootcert=${issuer.ca}`, `sslrootcert=${stranger.ca}`];
    const parameters = modes.flatMap((mode) =>
      roots.map((root) => [mode && `sslmode=${mode}`, root].filter(Boolean).join('&')),
    );
    const results = await compare([
      ...parameters.map((each) => url(`localhost:${primary}`, each)),
      // Its certificate is not for this name.
      ...parameters.slice(-6).map((each) => url(`127.0.0.1:${primary}`, each)),
      ...modes.map((mode) => url(`localhost:${standby}`, mode && `sslmode=${mode}`)),
      url(`localhost:${standby}`, roots[2]),
    ]);
    const tls = `${primary} by TLS`;
    expect(results.get(url(`localhost:${primary}`))).to.equal(tls);
    expect(results.get(url(`localhost:${standby}`))).to.equal(String(standby));
    expect(results.get(url(`localhost:${standby}`, 'sslmode=require'))).to.equal('refused');
    const verified = `sslmode=verify-full&sslrootcert=${issuer.ca}`;
    expect(results.get(url(`localhost:${primary}`, verified))).to.equal(tls);
    expect(results.get(url(`127.0.0.1:${primary}`, verified))).to.equal('refused');
    expect(results.get(url(`127.0.0.1:${primary}`, verified.replace('full', 'ca')))).to.equal(tls);
    expect(results.get(url(`localhost:${primary}`, `sslmode=require&sslrootcert=${stranger.ca}`))).to.equal(
      'refused',
    );
  });

  it('falls back to plaintext or to TLS if the server requires it', async () => {
    const modes = ['sslmode=disable', 'sslmode=allow', 'sslmode=prefer', 'sslmode=require', 'ssl=true'];
    const results = await compare(
      ['tls_only', 'plain_only'].flatMap((role) =>
        modes.map((mode) => url(`127.0.0.1:${primary}`, mode, role)),
      ),
    );
    expect([...new Set(results.values())]).to.have.members(['refused', `${primary} by TLS`, String(primary)]);
  });

  it('uses Unix sockets, without TLS', async () => {
    const directory = servers.socketDir;
    const results = await compare([
      `postgresql:///hub?host=${directory}&port=${primary}&user=postgres`,
      url(`${encodeURIComponent(directory)}:${primary}`),
      url(`${encodeURIComponent(directory)}:${primary}`, 'sslmode=verify-full'),
      url(`127.0.0.1:${dead},${encodeURIComponent(directory)}:${primary}`),
      url(`${encodeURIComponent(directory)}:${dead},127.0.0.1:${primary}`),
      url(`${encodeURIComponent(directory)}:${dead}`),
      `postgres://postgres:x@/hub?host=${directory}&port=${primary}`,
    ]);
    expect([...results.values()].slice(0, 4)).to.deep.equal(Array(4).fill('socket'));
  });

  it('tries several hosts in order until one has the required session', async () => {
    const lists = [`127.0.0.1:${standby},127.0.0.1:${primary}`, `127.0.0.1:${primary},127.0.0.1:${standby}`];
    const wishes = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'];
    const results = await compare([
      ...lists.flatMap((list) =>
        wishes.map((each) => url(list, `target_session_attrs=${each}&sslmode=disable`)),
      ),
      url(`127.0.0.1:${dead},127.0.0.1:${primary}`),
      url(`127.0.0.1,127.0.0.1`, `port=${dead},${primary}`),
      url(`127.0.0.1,localhost`, `port=${primary}`),
      url(`127.0.0.1,localhost,127.0.0.1`, `port=${primary},${standby}`),
      url(`nowhere.invalid:${primary},127.0.0.1:${primary}`),
      url(`127.0.0.1:${primary}`, `target_session_attrs=standby`),
      url(`127.0.0.1:${standby}`, `target_session_attrs=prefer-standby`),
      url(`nowhere.invalid:${primary}`, 'hostaddr=127.0.0.1'),
      // A refusal ends the search, and standbys that turn a role away are no exception.
      url(`127.0.0.1:${standby},127.0.0.1:${primary}`, '', 'outcast'),
      url(`127.0.0.1:${standby},127.0.0.1:${primary}`, 'sslmode=require'),
      url(`127.0.0.1:${dead},127.0.0.1:${dead}`),
    ]);
    const found = (list: number, wish: string) =>
      results.get(url(lists[list] ?? '', `target_session_attrs=${wish}&sslmode=disable`));
    expect(found(0, 'read-write')).to.equal(String(primary));
    expect(found(1, 'standby')).to.equal(String(standby));
  });

  it('applies the environment variables of psql, after the address', async () => {
    const environment = { PGSSLMODE: 'disable', PGUSER: 'postgres', PGPORT: String(primary) };
    const results = await compare(
      [
        'postgres://127.0.0.1/hub',
        'postgres://127.0.0.1/hub?sslmode=require',
        `postgres:///hub?port=${standby}`,
      ],
      { ...environment, PGHOST: '127.0.0.1' },
    );
    expect([...results.values()]).to.deep.equal([String(primary), `${primary} by TLS`, String(standby)]);
    expect(() => parseConnectionString('postgres://h/hub', { PGSSLMODE: 'no-verify' })).to.throw(
      /^the environment variable PGSSLMODE must be one of disable, /,
    );
  });

  it('sends a client certificate, and refuses a key that others can read', async () => {
    const shown = `sslmode=require&sslcert=${own.cert}&sslkey=${own.key}`;
    const address = url(`127.0.0.1:${primary}`, shown, 'certified');
    const readable = join(certificates.dir, 'readable.key');
    await writeFile(readable, await readFile(own.key));
    await chmod(readable, 0o644);
    const locked = join(certificates.dir, 'locked.key');
    await new Promise((resolve) => {
      const args = ['pkey', '-in', own.key, '-aes256', '-passout', 'pass:correct-horse', '-out', locked];
      execFile('openssl', args, resolve);
    });
    const results = await compare([
      address,
      url(`127.0.0.1:${primary}`, 'sslmode=require', 'certified'),
      address.replace(own.key, readable),
      address.replace(own.key, `${locked}&sslpassword=correct-horse`),
      address.replace(own.key, `${locked}&sslpassword=wrong`),
    ]);
    const tls = `${primary} by TLS`;
    expect([...results.values()]).to.deep.equal([tls, 'refused', 'refused', tls, 'refused']);
    expect(await refusal(address.replace(own.key, readable))).to.match(/sslkey, .*readable.key: chmod 600/);
  });

  it('authenticates with a password from the address or the password file, with channel binding if required', async () => {
    const passfile = join(certificates.dir, 'passwords');
    const lines = ['# comment', `127.0.0.1:${dead}:*:*:wrong`, `127.0.0.1:*:hub:password_only:correct-horse`];
    await writeFile(passfile, lines.join('\n'), { mode: 0o600 });
    const [role, known] = ['password_only', 'password_only:correct-horse'];
    const results = await compare([
      url(`127.0.0.1:${primary}`, 'channel_binding=require', known),
      url(`127.0.0.1:${primary}`, 'channel_binding=require&sslmode=disable', known),
      url(`127.0.0.1:${primary}`, 'channel_binding=require', 'tls_only'),
      url(`127.0.0.1:${primary}`, 'channel_binding=disable', known),
      url(`127.0.0.1:${primary}`, '', 'password_only:wrong'),
      url(`127.0.0.1:${primary}`, '', role),
      url(`127.0.0.1:${primary}`, `passfile=${passfile}`, role),
      url(`localhost:${primary}`, `passfile=${passfile}`, role),
    ]);
    const tls = `${primary} by TLS`;
    expect([...results.values()]).to.deep.equal([
      ...[tls, 'refused', 'refused', tls],
      ...['refused', 'refused', tls, 'refused'],
    ]);
    expect(await refusal(url(`127.0.0.1:${primary}`, '', role))).to.match(
      /the server asks for a password, and DATABASE_URL has none/,
    );
  });

  it('passes options to the server', async () => {
    const client = createClient(
      parseConnectionString(url(`127.0.0.1:${primary}`, 'options=-c%20work_mem%3D7MB'), {}),
      'hub test',
    );
    await client.connect();
    const { rows } = await client.query('show work_mem');
    await client.end();
    expect(rows).to.deep.equal([{ work_mem: '7MB' }]);
  });

  it('tries the next host when one does not answer in time', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}));
    const port = await listen(silent);
    const list = url(`127.0.0.1:${port},127.0.0.1:${primary}`, 'connect_timeout=2');
    expect(await ours(list)).to.equal(`${primary} by TLS`);
    const message = await refusal(url(`127.0.0.1:${port}`, 'connect_timeout=2'));
    silent.close();
    expect(message).to.equal('timeout expired');
  });

  it('starts TLS immediately with sslnegotiation=direct', async () => {
    const { cert, key } = await issuer.issue('/CN=terminator');
    const options = { cert: await readFile(cert), key: await readFile(key), ALPNProtocols: ['postgresql'] };
    const terminator = createTlsServer(options, (socket) => {
      const inner = connectPlain(primary, '127.0.0.1');
      for (const each of [socket, inner]) each.on('error', () => {});
      if (socket.alpnProtocol === 'postgresql') socket.pipe(inner).pipe(socket);
    });
    const port = await listen(terminator);
    const direct = `sslnegotiation=direct&sslmode=verify-full&sslrootcert=${issuer.ca}`;
    expect(await ours(url(`localhost:${port}`, direct))).to.equal(String(primary));
    terminator.close();
  });

  it('trusts the system authorities with sslrootcert=system', async () => {
    const address = url(`localhost:${primary}`, 'sslrootcert=system');
    expect(await refusal(address)).to.match(/^TLS with localhost: .*certificate/);
    expect(() => parseConnectionString(`${address}&sslmode=require`, {})).to.throw(
      'sslmode=require is too weak for sslrootcert=system: use sslmode=verify-full',
    );
  });

  it('reports the cause and a remedy, and never the password', async () => {
    const host = `postgres:correct-horse@localhost:${primary}/hub`;
    const messages = await Promise.all(
      [
        `postgres://${host}?sslmode=verify-full&sslrootcert=${stranger.ca}`,
        `postgres://${host.replace('localhost', '127.0.0.1')}?sslmode=verify-full&sslrootcert=${issuer.ca}`,
        `postgres://${host}?sslmode=verify-ca`,
        // psql would go on without checking anything.
        `postgres://${host}?sslmode=require&sslrootcert=/nowhere/ca.crt`,
        `postgres://postgres:correct-horse@127.0.0.1:${standby}/hub?sslmode=require`,
        `postgres://password_only:correct-horsf@127.0.0.1:${primary},127.0.0.1:${standby}/hub?sslmode=require`,
        `postgres://postgres:correct-horse@127.0.0.1:${dead},127.0.0.1:${standby}/hub?target_session_attrs=read-write`,
      ].map((each) => refusal(each)),
    );
    expect(messages.join('\n')).not.to.contain('correct-hors');
    const patterns = [
      /certificate.*: give the certificate of its CA as sslrootcert in DATABASE_URL$/,
      /altnames.*: correct the host in DATABASE_URL, or use sslmode=verify-ca$/,
      /^sslmode=verify-ca needs a root certificate: add sslrootcert=/,
      /^the file of sslrootcert, \/nowhere\/ca.crt, cannot be read \(ENOENT\): correct DATABASE_URL$/,
      /^the server does not support SSL, and sslmode=require asks for it: /,
      /^password authentication failed for user "password_only"$/,
      /127.0.0.1:\d+: connect ECONNREFUSED .*; 127.0.0.1:\d+: session is read-only, and target_session_attrs=read-write/,
    ];
    for (const [index, pattern] of patterns.entries()) expect(messages[index]).to.match(pattern);
  });

  it('of a pool moves to the new primary after a failover', async () => {
    const list = `127.0.0.1:${primary},127.0.0.1:${standby}`;
    const open = (parameters: string) =>
      openDatabase({ url: url(list, parameters), poolSize: 2, entities: storageEntities });
    const db = await open('target_session_attrs=read-write');
    try {
      const port = async () => (await db.pool.query('select inet_server_port() as port')).rows[0].port;
      expect(await port()).to.equal(primary);
      await servers.failOver();
      const failures: unknown[] = [];
      const moved = async () => (await port().catch((error) => failures.push(error))) === standby;
      await until(moved, 'the pool is connected to the new primary', 30_000);
      expect(failures.filter((each) => !isDatabaseUnavailable(each))).to.deep.equal([]);
    } finally {
      await db.close();
    }
  });
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port; // it listens on TCP
}
