// Opening a database: its errors, none of which contains a password.
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { openDatabase } from '../../../core/storage/database.ts';
import { storageEntities } from '../../../core/storage/schema/entities.ts';
import { streamOf } from '../../../core/storage/sql/transaction.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

const open = (url: string) => openDatabase({ url, poolSize: 2, entities: storageEntities });
const refusal = (url: string): Promise<string> =>
  open(url).then(
    () => 'nothing was refused',
    (error: Error) => error.message,
  );

describe('a database', () => {
  let url: string;
  before(async () => {
    url = await createDatabase();
  });

  it('is opened with time limits, in UTC, under the name "hub"', async () => {
    const db = await open(url);
    const { rows } = await db.pool.query(
      `select current_setting('statement_timeout') as statement, current_setting('timezone') as zone,
        current_setting('idle_in_transaction_session_timeout') as idle, current_setting('application_name') as name`,
    );
    await db.close();
    expect(rows).to.deep.equal([{ statement: '15s', zone: 'UTC', idle: '15s', name: 'hub' }]);
  });

  it('is opened over TLS or not at all if its URL requires TLS', async () => {
    expect(await refusal(`${url}?sslmode=verify-full`)).to.match(/does not support SSL/);
  });

  it('leaves no connection open after it is closed', async () => {
    const db = await open(url);
    await Promise.all([db.pool.query('select 1'), db.em().execute('select 1')]);
    await db.close();
    const left = `select from pg_stat_activity where datname = current_database() and application_name = 'hub'`;
    await until(async () => (await query(url, left)).length === 0, 'its connections are gone');
  });

  it('gets the statements of one tick in one write', async () => {
    const db = await open(url);
    const client = await db.pool.connect();
    const stream = streamOf(client);
    const { _write, _writev } = stream;
    let writes = 0;
    stream._write = (...args) => {
      writes += 1;
      _write.apply(stream, args);
    };
    stream._writev = (...args) => {
      writes += 1;
      _writev?.apply(stream, args);
    };
    const results = await Promise.all([
      client.query('begin'),
      client.query({ name: 'answer', text: 'select $1::int as answer', values: [42] }),
      client.query('commit'),
    ]);
    const writesOfTick = writes;
    client.release();
    await db.close();
    expect(results.map(({ command }) => command)).to.deep.equal(['BEGIN', 'SELECT', 'COMMIT']);
    expect(writesOfTick).to.equal(1);
  });

  it('that does not answer is named with the cause and without its password', async () => {
    const target = new URL(url);
    const secret = 'correct-horse';
    target.password = secret;
    const message = await refusal(`${target.href}?application_name=${secret}`);
    expect(message).to.match(
      /^no database at postgres:\/\/test_\w+@127\.0\.0\.1:\d+\/test_\w+: password authentication/,
    );
    expect(message).not.to.contain(secret);
    expect(await refusal(`postgres://hub:${secret}@127.0.0.1:1/hub`)).to.equal(
      'no database at postgres://hub@127.0.0.1:1/hub: connect ECONNREFUSED 127.0.0.1:1',
    );
    const missing = new URL(url);
    missing.pathname = '/nowhere';
    expect(await refusal(missing.href)).to.match(/\/nowhere: database "nowhere" does not exist$/);
  });

  it('older than PostgreSQL 15 is refused', async () => {
    const server = await oldPostgres();
    const { port } = server.address() as { port: number }; // it listens on TCP
    const message = await refusal(`postgres://hub@127.0.0.1:${port}/hub?sslmode=disable`);
    server.close();
    expect(message).to.match(/: it is PostgreSQL 14; 15 or later is needed$/);
  });
});

/** Speaks as much of the protocol as it takes to tell a version: `server_version_num` is the answer to everything. */
async function oldPostgres(): Promise<Server> {
  const message = (type: string, ...parts: (string | Buffer)[]): Buffer => {
    const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
    const head = Buffer.alloc(5, type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
  const ready = message('Z', 'I');
  const version = '140011';
  const answer = Buffer.concat([
    message(
      'T',
      int16(1),
      'server_version_num\0',
      Buffer.alloc(6),
      Buffer.from([0, 0, 0, 25]),
      Buffer.alloc(8),
    ),
    message('D', int16(1), Buffer.from([0, 0, 0, version.length]), version),
    message('C', 'SHOW\0'),
    ready,
  ]);
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
      socket.on('data', (chunk) => socket.write(chunk[0] === 'X'.charCodeAt(0) ? '' : answer));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return server;
}
