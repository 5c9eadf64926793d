// Which hub is called, and which token it is sent.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Code, ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { resolveTarget } from '../../../cli/connect/choose-hub.ts';
import { describeConnectError } from '../../../cli/errors/describe-connect-error.ts';
import { processPlace, processStart, stillRuns } from '../../../lib/process-place.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { spawnHub } from '../../support/hub/hub-process.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { hubctlHere } from '../run-here.ts';

const flag = (value: string) => ({ value, from: '--flag' });

/** The message of the error that the promise ends with. */
async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: Error) => error.message,
  );
}

describe('a server that is not a hub', () => {
  const answers: Record<string, RequestListener> = {
    'HTTP 302': (_, response) => response.writeHead(302, { location: 'https://login.example' }).end(),
    'HTTP 403': (_, response) => response.writeHead(403).end('no'),
    'HTTP 502': (_, response) =>
      response.writeHead(502, { 'content-type': 'text/html' }).end('<p>Bad Gateway'),
    'unsupported content type text/html': (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in'),
    'parse binary: .*': (_, response) =>
      response.writeHead(200, { 'content-type': 'application/proto' }).end(Buffer.alloc(100, 255)),
    'message size is larger .*': (_, response) => {
      const endless = Readable.from(Array.from({ length: 200 }, () => Buffer.alloc(1024 * 1024, 10)));
      endless.pipe(response.writeHead(200, { 'content-type': 'application/proto' }));
    },
  };
  for (const [said, answer] of Object.entries(answers)) {
    it(`is reported as such: ${said}`, async () => {
      const server = createServer(answer).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo; // it listens on a port
      const url = `http://127.0.0.1:${port}`;
      const { code, stderr } = await hubctlHere(['app', 'list', '--server', url, '--token', 'hub_secret']);
      server.close();
      server.closeAllConnections();
      expect(stderr).to.match(
        new RegExp(`^hubctl: The server at ${url} is not a hub and does not lead to one \\(${said}\\)\\.\n$`),
      );
      expect(code).to.equal(3);
    });
  }
});

describe('a given data directory', () => {
  let elsewhere: Server;
  let dir: string;
  const told: string[] = [];
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'hubctl-target-'));
    // A listener at the default address, if it is free: records each caller with its token.
    elsewhere = createServer((request, response) => {
      told.push(request.headers.authorization ?? '');
      response.end();
    });
    elsewhere.on('error', () => {}).listen(5100, '127.0.0.1');
  });
  after(async () => {
    elsewhere.close();
    await rm(dir, { recursive: true });
  });

  for (const how of ['--data-dir', 'HUB_DATA_DIR']) {
    const run = (value: string) =>
      how === '--data-dir'
        ? hubctlHere(['app', 'list', how, value], { HUBCTL_TOKEN: 'hub_secret', HUB_DATA_DIR: '' })
        : hubctlHere(['app', 'list'], { HUBCTL_TOKEN: 'hub_secret', [how]: value });

    it(`by ${how} that does not exist is a usage error, and no other hub is called`, async () => {
      const { code, stderr } = await run(join(dir, 'mistyped'));
      expect({ code, stderr }).to.deep.equal({
        code: 2,
        stderr: `hubctl: ${how}: there is no directory ${join(dir, 'mistyped')}.\n`,
      });
      expect(told).to.deep.equal([]);
    });

    it(`by ${how} without a running hub exits with 3, and no other hub is called`, async () => {
      const { code, stderr } = await run(dir);
      expect(code).to.equal(3);
      expect(stderr).to.contain(`hubctl: ${how}: no hub runs on ${dir}. Start one there`);
      expect(told).to.deep.equal([]);
    });
  }
});

describe('a hub that was killed', () => {
  it('leaves an address to which the token of its data directory is not sent', async () => {
    const dataDir = await makeDataDir();
    const told: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      told.push(request.headers.authorization);
      response.writeHead(404).end();
    });
    try {
      const hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: await createMigratedDatabase() });
      const local = (...words: string[]) => hubctlHere(words, { HUB_DATA_DIR: dataDir });
      expect(await local('app', 'list')).to.include({ code: 0 });
      hub.child.kill('SIGKILL');
      await once(hub.child, 'exit');
      other.listen(Number(new URL(hub.rpcUrl).port), '127.0.0.1');
      await once(other, 'listening');

      const { code, stderr } = await local('app', 'list');
      expect(code).to.equal(3);
      expect(stderr).to.contain(`no hub runs on ${dataDir}`);
      expect(told).to.deep.equal([]);
      const named = await local('app', 'list', '--server', hub.rpcUrl);
      expect(named.code, named.stderr).not.to.equal(0);
      expect(told).to.deep.equal([undefined]);
    } finally {
      other.close();
      await discard(dataDir);
    }
  });
});

describe('the target of a command', () => {
  let dataDir: string;
  const hubJson = (content: string) => writeFile(join(dataDir, 'hub.json'), content);

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'hubctl-target-'));
    await hubJson('{"pid":1,"gateway":"http://127.0.0.1:7099","rpc":"http://127.0.0.1:7100"}');
    await writeFile(join(dataDir, 'admin-token'), 'local-secret\n');
  });
  afterEach(() => rm(dataDir, { recursive: true }));

  it('is the hub of the data directory, with its token, by default', async () => {
    const target = await resolveTarget({ dataDir });
    expect(target.server).to.equal('http://127.0.0.1:7100');
    expect(target.token).to.deep.equal({ value: 'local-secret', from: join(dataDir, 'admin-token') });
  });

  it('is the default address if the data directory knows no running hub', async () => {
    await rm(join(dataDir, 'hub.json'));
    expect((await resolveTarget({ dataDir })).server).to.equal('http://127.0.0.1:5100');
    expect(await resolveTarget({ dataDir: join(dataDir, 'none') })).to.deep.equal({
      server: 'http://127.0.0.1:5100',
      token: undefined,
      guessedFor: join(dataDir, 'none'),
      withheld: undefined,
    });
  });

  it('is the hub of the data directory unless its process has ended in the same place', async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    await once(child, 'exit');
    const ended = child.pid ?? 0;
    const cases = [
      { pid: ended, place: processPlace(), server: 'http://127.0.0.1:5100' },
      { pid: ended, place: '00000000', server: 'http://127.0.0.1:7100' }, // as in another container
      { pid: process.pid, place: processPlace(), server: 'http://127.0.0.1:7100' },
    ];
    for (const { pid, place, server } of cases) {
      await hubJson(JSON.stringify({ pid, place, rpc: 'http://127.0.0.1:7100' }));
      const target = await resolveTarget({ dataDir });
      const token = server.endsWith(':7100') ? 'local-secret' : undefined;
      expect({ server: target.server, token: target.token?.value }).to.deep.equal({ server, token });
    }
  });

  it('is not a hub whose process id another process has got', async () => {
    const other = spawn('sleep', ['60'], { stdio: 'ignore' });
    try {
      const { pid = 0 } = other;
      const server = 'http://127.0.0.1:7100';
      const starts = [
        { started: processStart(pid), expected: server },
        { started: undefined, expected: server }, // of a hub that does not store it
        { started: processStart(process.pid), expected: 'http://127.0.0.1:5100' },
        // The same tick after another boot.
        { started: processStart(pid)?.replace(/^\S+/, randomUUID()), expected: 'http://127.0.0.1:5100' },
        // Of a hub that cannot read the id of the boot.
        { started: processStart(pid)?.replace(/^\S+/, '-'), expected: server },
        { started: processStart(process.pid)?.replace(/^\S+/, '-'), expected: 'http://127.0.0.1:5100' },
      ];
      for (const { started, expected } of starts) {
        await hubJson(JSON.stringify({ pid, place: processPlace(), started, rpc: server }));
        const target = await resolveTarget({ dataDir });
        const token = expected === server ? 'local-secret' : undefined;
        const found = { server: target.server, token: target.token?.value };
        expect(found, started).to.deep.equal({ server: expected, token });
      }
    } finally {
      other.kill();
    }
  });

  it('is recognized in a sandbox that hides parts of /proc', async function () {
    const inSandbox = (options: string, ...words: string[]) => {
      const mount = `mount -t proc -o ${options} proc /proc && exec "$@"`;
      return spawnSync('unshare', ['--mount', 'sh', '-c', mount, 'sh', ...words], { encoding: 'utf8' });
    };
    const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', process.execPath];
    const probe = inSandbox('subset=pid,hidepid=2', ...asNobody, '--version');
    if (probe.status !== 0) this.skip(); // only root may mount, and this checkout may be closed to others
    const evaluate = (options: string, program: string[], expression: string): unknown => {
      const file = join(import.meta.dirname, '../../../lib/process-place.ts');
      const script = `import * as place from '${file}'; console.log(JSON.stringify(${expression}))`;
      const { stdout, stderr } = inSandbox(options, ...program, '--input-type=module', '-e', script);
      expect(stderr).to.equal('');
      return JSON.parse(stdout);
    };
    const { pid } = process;
    const started = processStart(pid) ?? '';
    const other = started.replace(/\S+$/, '1'); // started at another tick
    const evaluateHere = (expression: string) => evaluate('subset=pid', [process.execPath], expression);
    expect(evaluateHere(`place.stillRuns(${pid}, '${started}')`), 'it runs').to.equal(true);
    expect(evaluateHere(`place.stillRuns(${pid}, '${other}')`), 'it got the id of another').to.equal(false);
    const startedThere = evaluateHere(`place.processStart(${pid})`);
    expect(stillRuns(pid, String(startedThere)), 'its start is from the sandbox').to.equal(true);
    const hidden = evaluate('hidepid=2', asNobody, `place.stillRuns(${pid}, '${started}')`);
    expect(hidden, 'it runs and cannot be seen').to.equal(true);
  });

  it('does not count as the default address only because no hub runs', async () => {
    const empty = join(dataDir, 'none');
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const error = new ConnectError('no', Code.Unavailable, undefined, undefined, refused);
    const about = { target: await resolveTarget({ dataDir: empty }), givenFor: () => undefined };
    expect(describeConnectError(error, about).message).to.match(
      new RegExp(
        `^No hub runs on the data directory ${empty}, and none answers at .*--data-dir, --context or --server`,
      ),
    );
  });

  it('never gets the token of the data directory at another address', async () => {
    for (const server of [
      'http://127.0.0.1:7101',
      'https://127.0.0.1:7100',
      'http://localhost:7100',
      'http://127.0.0.1:7100/x',
    ]) {
      const target = await resolveTarget({ server: flag(server), dataDir });
      expect(target.token, server).to.equal(undefined);
      expect(target.withheld, server).to.contain('is not sent to other servers');
    }
    await rm(join(dataDir, 'hub.json'));
    expect((await resolveTarget({ server: flag('http://127.0.0.1:5100'), dataDir })).token).to.equal(
      undefined,
    );
  });

  it('gets that token at the address of that hub, in any spelling', async () => {
    const target = await resolveTarget({ server: flag('HTTP://127.0.0.1:7100/'), dataDir });
    expect(target.token?.value).to.equal('local-secret');
  });

  it('gets the given token rather than the local one', async () => {
    const target = await resolveTarget({ token: flag(' given '), dataDir });
    expect(target.token).to.deep.equal({ value: 'given', from: '--flag' });
  });

  it('is refused with an invalid address, with the source of the address', async () => {
    for (const server of ['localhost:5100', 'ftp://hub', 'http://user:pw@hub', 'http://hub?x=1', 'hub']) {
      expect(await failure(resolveTarget({ server: flag(server), dataDir })), server).to.contain(
        'The server in --flag',
      );
    }
  });

  it('is refused with a token that cannot be a header, without printing it', async () => {
    const message = await failure(resolveTarget({ token: flag('two\nlines'), dataDir }));
    expect(message).to.contain('The token in --flag is invalid').and.not.to.contain('two');
  });

  it('is refused with a damaged hub.json', async () => {
    for (const content of ['', '{', '[]', 'null', '{"rpc":5100}']) {
      await hubJson(content);
      expect(await failure(resolveTarget({ dataDir })), content).to.contain('hub.json names no hub');
    }
  });
});
