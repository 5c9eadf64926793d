// How log lines reach standard output or files, and how a hub fares that cannot write them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { logToFile, logToStream } from '../../../cli/serve/log-output.ts';
import { HUBCTL, spawnHub } from '../../support/hub/hub-process.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

describe('the lines of a log', () => {
  const writes: string[] = [];
  let failure: Error | undefined;
  let writableLength = 0;
  const stream = {
    get writableLength() {
      return writableLength;
    },
    on: () => stream,
    write(text: string, done: (error?: Error) => void) {
      if (failure === undefined) writes.push(text);
      done(failure);
    },
  } as unknown as NodeJS.WritableStream & { writableLength: number }; // all it is asked for
  const reports: string[] = [];
  const open = () => logToStream(stream, (message) => void reports.push(message));
  beforeEach(() => {
    writes.splice(0);
    reports.splice(0);
    failure = undefined;
    writableLength = 0;
  });

  it('of one moment are written together', async () => {
    const log = open();
    for (const line of ['one\n', 'two\n', 'three\n']) log.write(line);
    await setImmediate();
    expect(writes).to.deep.equal(['one\ntwo\nthree\n']);
  });

  it('are written whole, and together only up to the atomic size of a pipe', async () => {
    const log = open();
    const lines = [...'aé漢🎈'].map((character) => `${character.repeat(500)}\n`);
    for (const line of [...lines, ...lines]) log.write(line);
    await setImmediate();
    expect(writes.join('')).to.equal([...lines, ...lines].join(''));
    for (const written of writes) {
      expect(written.endsWith('\n')).to.equal(true);
      expect(Buffer.byteLength(written)).to.be.at.most(4_096);
    }
    expect(writes, 'no more writes than needed').to.have.length(3);
  });

  it('are counted when they are lost, with a report at the first and after recovery', async () => {
    const log = open();
    failure = new Error('ENOSPC: no space left on device');
    for (const line of ['one\n', 'two\n']) {
      log.write(line);
      await setImmediate();
    }
    expect(log).to.include({ lostLines: 2, isWritable: false });
    failure = undefined;
    log.write('three\n');
    await setImmediate();
    expect(log).to.include({ lostLines: 2, isWritable: true });
    expect(writes).to.deep.equal(['three\n']);
    expect(reports).to.have.length(2);
    expect(reports[0]).to.contain('cannot be written').and.contain('ENOSPC');
    expect(reports[1]).to.contain('2 lines were lost');
  });

  it('are dropped rather than kept in memory for a reader that hangs', async () => {
    const log = open();
    writableLength = 9 * 1024 * 1024;
    log.write('one\n');
    await setImmediate();
    expect(log.lostLines).to.equal(1);
    expect(writes).to.deep.equal([]);
  });

  it('are written to files of limited size and number', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'hub-log-'));
    const log = await logToFile({ path: join(dir, 'hub.log'), maxBytes: 1_000, keep: 2 }, () => {});
    const line = `${'x'.repeat(99)}\n`;
    for (let index = 0; index < 80; index++) {
      log.write(line);
      await setImmediate();
    }
    await until(async () => (await readdir(dir)).length <= 3, 'old files are removed');
    await log.close();
    const names = await readdir(dir);
    expect(
      names.every((name) => /^hub\.\d+\.log$/.test(name)),
      names.join(),
    ).to.equal(true);
    for (const name of names) expect((await stat(join(dir, name))).size).to.be.at.most(20_000);
    expect(log.lostLines).to.equal(0);
    await rm(dir, { recursive: true });
  });
});

describe('a hub with a log that', () => {
  let dir: string;
  let environment: Record<string, string>;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'hub-log-'));
    environment = { DATABASE_URL: await createMigratedDatabase(), HUB_DATA_DIR: join(dir, 'data') };
  });
  after(() => rm(dir, { recursive: true, force: true }));

  const serve = (redirection: string) => {
    const command = `exec "${process.execPath}" "${HUBCTL}" serve --port 0 --rpc-port 0 ${redirection}`;
    const child = spawn('bash', ['-c', command], {
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let complaints = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaints += text;
    });
    return { child, complaints: () => complaints };
  };
  const readAddresses = async () =>
    JSON.parse(await readFile(join(dir, 'data', 'hub.json'), 'utf8').catch(() => '{}')) as {
      pid?: number;
      gateway?: string;
    };
  const untilServing = async (pid: number | undefined) => {
    let gateway = '';
    await until(
      async () => {
        const found = await readAddresses();
        gateway = found.pid === pid ? (found.gateway ?? '') : '';
        return gateway !== '';
      },
      'the hub is announced',
      30_000,
    );
    return gateway;
  };

  it('cannot be written keeps serving, and reports it on standard error', async () => {
    const { child, complaints } = serve('>/dev/full');
    const gateway = await untilServing(child.pid);
    expect((await fetch(`${gateway}/readyz`)).status).to.equal(200);
    expect((await fetch(`${gateway}/v1/status/lic_unknown`)).status).to.equal(404);
    await until(() => complaints().includes('the log cannot be written'), 'it is reported');
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code).to.equal(0);
  });

  it('loses its reader stops, and does not exit with 0', async () => {
    const { child, complaints } = serve('');
    const gateway = await untilServing(child.pid);
    child.stdout.destroy();
    // A request makes the hub write a log line.
    await fetch(`${gateway}/v1/status/lic_unknown`).catch(() => {});
    const [code] = await once(child, 'exit');
    expect(code).to.equal(1);
    expect(complaints()).to.contain('the program that read the log from standard output has ended');
  });

  it('goes to a file leaves standard output empty, without lines for health checks', async () => {
    const hub = await spawnHub({ ...environment, HUB_LOG_LEVEL: 'info' });
    for (const path of ['/healthz', '/readyz', '/v1/status/lic_unknown']) await fetch(hub.gatewayUrl + path);
    await hub.stop();
    const requests = hub.lines.filter((line) => line.includes('"msg":"request"'));
    expect(requests).to.have.length(1);
    expect(requests[0]).to.contain('/v1/status');

    const { child } = serve(`--log-file "${join(dir, 'hub.log')}"`);
    let output = '';
    child.stdout.on('data', (data) => {
      output += data;
    });
    await untilServing(child.pid);
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(output).to.equal('');
    const text = await readFile(join(dir, 'hub.1.log'), 'utf8');
    expect(text).to.contain('hub is ready').and.contain('hub has stopped');
  });
});
