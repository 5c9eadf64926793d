// The embedded PostgreSQL that a command starts: who stops it, and when.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { postgresForCommand } from '../../../core/storage/embedded-postgres/for-command.ts';
import { runningServer } from '../../../core/storage/embedded-postgres/lock-file.ts';
import { startEmbeddedPostgres } from '../../../core/storage/embedded-postgres/start.ts';
import { ownPostgres } from '../../../core/storage/embedded-postgres/supervise.ts';
import { createMasterKeyFile } from '../../../core/storage/secrets/key-ring-file.ts';
import { discard, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { HUBCTL } from '../../support/hub/hub-process.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { hubctlHere } from '../run-here.ts';
import { startPrinting } from '../spawn-hubctl.ts';

describe('the embedded PostgreSQL that a command starts', () => {
  let dataDir: string;
  const children: ChildProcess[] = [];
  before(async () => {
    dataDir = await makeDataDir();
    const { code } = await hubctlHere(['migration', 'apply'], { HUB_DATA_DIR: dataDir });
    expect(code).to.equal(0);
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });
  after(() => discard(dataDir));

  /** A process that uses the database until its standard input ends. */
  const useElsewhere = async (): Promise<ChildProcess> => {
    const script = join(import.meta.dirname, 'local-database-child.ts');
    const child = spawn(process.execPath, [script, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`the child ended with status ${code}`))),
    ]);
    return child;
  };

  const hasStopped = () => until(async () => !(await postgresRuns(dataDir)), 'PostgreSQL has stopped');

  /**
   * Sends Ctrl-C to a command that waits for the start of PostgreSQL, a second time if `again`. Resolves with its
   * standard error.
   */
  const interruptStart = async (words: string[], { again = false } = {}): Promise<string> => {
    const { child, printed, end } = startPrinting(words, { HUB_DATA_DIR: dataDir });
    children.push(child);
    const found = async () => (await runningServer(join(dataDir, 'postgres/data')))?.pid;
    await until(async () => (await found()) !== undefined, 'PostgreSQL starts');
    const server = (await found()) ?? 0;
    process.kill(server, 'SIGSTOP'); // the command waits for it
    try {
      child.kill('SIGINT');
      const waits = () => printed.stderr.includes('SIGINT: finishing the current call');
      await until(() => waits() || child.signalCode !== null, 'the command has the signal');
      if (again) {
        child.kill('SIGINT');
        await end;
      }
    } finally {
      process.kill(server, 'SIGCONT');
    }
    const { code, stderr } = await end;
    expect(code, stderr).to.equal(130);
    return stderr;
  };

  for (const words of [
    ['doctor', '--watch'],
    ['migration', 'list'],
  ]) {
    it(`is stopped by Ctrl-C during \`${words.join(' ')}\``, async () => {
      expect(await interruptStart(words)).to.contain('hubctl: Interrupted by SIGINT.');
      await hasStopped();
    });
  }

  it('is stopped by Ctrl-C before a backup begins, and the backup reports only that', async () => {
    const [passphrase, out] = [join(dataDir, 'passphrase'), join(dataDir, 'hub.age')];
    await writeFile(passphrase, 'correct horse battery staple\n', { mode: 0o600 });
    await createMasterKeyFile(join(dataDir, 'master.key'));
    const stderr = await interruptStart(['backup', 'create', '--out', out, '--passphrase-file', passphrase]);
    expect(stderr).to.match(/call\. .*\nhubctl: Interrupted by SIGINT\. Nothing was written to .*\n$/);
    await hasStopped();
  });

  it('is stopped by a second signal while it starts', async () => {
    await interruptStart(['migration', 'list'], { again: true });
    await hasStopped();
  });

  /** Lets the work end, or ends the process as a second signal does. */
  const finish = async (command: ChildProcess, how: 'work' | 'signal' = 'work') => {
    const exited = once(command, 'exit');
    if (how === 'signal') command.kill('SIGTERM');
    else command.stdin?.end();
    expect(await exited).to.deep.equal([how === 'signal' ? 143 : 0, null]);
  };

  it('is stopped by a second signal', async () => {
    await finish(await useElsewhere(), 'signal');
    await hasStopped();
  });

  /** Whether a pg_ctl of this cluster runs, with this action if given. Never without /proc. */
  const pgCtlRuns = async (wanted?: 'start'): Promise<boolean> => {
    const home = await realpath(join(dataDir, 'postgres'));
    const pids = await readdir('/proc').catch(() => []);
    const found = pids.map(async (pid) => {
      const [program = '', action] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
      if (basename(program) !== 'pg_ctl' || (wanted !== undefined && action !== wanted)) return false;
      return (await readlink(`/proc/${pid}/cwd`)) === home;
    });
    const results = await Promise.allSettled(found); // a process may end meanwhile
    return results.some((result) => result.status === 'fulfilled' && result.value);
  };

  /** A command whose pg_ctl is starting PostgreSQL. Tries again if the start ended unseen, as on a busy machine. */
  const commandDuringStart = async (): Promise<ChildProcess> => {
    const env = { PATH: process.env['PATH'], HUB_DATA_DIR: dataDir };
    for (let attempt = 1; attempt <= 10; attempt++) {
      const child = spawn(HUBCTL, ['migration', 'list'], { detached: true, stdio: 'ignore', env });
      children.push(child);
      await until(async () => child.exitCode !== null || (await pgCtlRuns('start')), 'PostgreSQL starts');
      if (child.exitCode === null) return child;
      expect(child.exitCode, 'the command succeeds').to.equal(0);
    }
    throw new Error('each command ended before its pg_ctl was seen');
  };

  it('is stopped by a signal to the process group while it starts', async () => {
    const child = await commandDuringStart();
    const exited = once(child, 'exit');
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    expect(await exited).to.deep.equal([143, null]);
    await hasStopped();
  });

  for (const how of ['work', 'signal'] as const) {
    it(`keeps running for a hub that has started meanwhile, if the command ends by its ${how}`, async () => {
      const command = await useElsewhere();
      const lines: string[] = [];
      const owner = await ownPostgres({
        dataDir: await openDataDir(dataDir),
        log: (line) => lines.push(line),
        onLost: (error) => lines.push(error.message),
      });
      try {
        expect(lines.join()).to.contain('was already running');
        await finish(command, how);
        // The server handles the signal of pg_ctl before it accepts the next connection.
        await until(async () => !(await pgCtlRuns()), 'no pg_ctl runs that the command may have left');
        expect(await query(owner.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
        const log = await readFile(join(dataDir, 'postgres/data/server.log'), 'utf8');
        expect(log).not.to.contain('received fast shutdown request');
        expect(lines.join()).not.to.contain('restarting');
      } finally {
        await owner.stop();
      }
      expect(await postgresRuns(dataDir)).to.equal(false);
    });
  }

  it('keeps running for another command, and stops with the last one', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const commands = [await useElsewhere(), await useElsewhere()] as const;
      await finish(commands[order[0]]);
      expect(await postgresRuns(dataDir)).to.equal(true);
      await finish(commands[order[1]]);
      expect(await postgresRuns(dataDir)).to.equal(false);
    }
  });

  it('stops once if several commands end at the same time', async () => {
    const commands = [await useElsewhere(), await useElsewhere(), await useElsewhere()];
    await Promise.all(commands.map((command) => finish(command)));
    expect(await postgresRuns(dataDir)).to.equal(false);
  });

  it('keeps running if a killed hub left it', async () => {
    const owner = await startEmbeddedPostgres({ dataDir });
    await finish(await useElsewhere());
    expect(await query(owner.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await owner.stop();
  });

  it('is stopped also if one of its processes has crashed', async () => {
    const command = await postgresForCommand(dataDir);
    const [backend] = await query<{ pid: number }>(
      command.url,
      `select pid from pg_stat_activity where application_name = 'hubctl'`,
    );
    process.kill(backend?.pid ?? 0, 'SIGKILL');
    await command.close();
    expect(await postgresRuns(dataDir)).to.equal(false);
  });

  it('keeps running for its hub if one of its processes has crashed', async () => {
    const command = await postgresForCommand(dataDir);
    const owner = await ownPostgres({ dataDir: await openDataDir(dataDir), log: () => {}, onLost: () => {} });
    const server = await runningServer(join(dataDir, 'postgres/data'));
    const [backend] = await query<{ pid: number }>(
      command.url,
      `select pid from pg_stat_activity where application_name = 'hubctl'`,
    );
    process.kill(backend?.pid ?? 0, 'SIGKILL');
    await command.close();
    expect((await runningServer(join(dataDir, 'postgres/data')))?.pid).to.equal(server?.pid);
    expect(await query(owner.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await owner.stop();
    expect(await postgresRuns(dataDir)).to.equal(false);
  });

  it('keeps running for its hub if the connection of a command is lost', async () => {
    const owner = await ownPostgres({ dataDir: await openDataDir(dataDir), log: () => {}, onLost: () => {} });
    const command = await postgresForCommand(dataDir);
    await query(
      owner.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'hubctl'`,
    );
    await command.close();
    expect(await query(owner.url, 'select 1 as one')).to.deep.equal([{ one: 1 }]);
    await owner.stop();
    expect(await postgresRuns(dataDir)).to.equal(false);
  });

  it('is stopped also if its settings cannot be read', async () => {
    const change = async (...statements: string[]): Promise<void> => {
      const server = await startEmbeddedPostgres({ dataDir });
      for (const statement of statements) await query(server.url, statement);
      await server.stop();
    };
    await change(
      'create schema failing',
      `create function failing.current_setting(text, boolean) returns text language plpgsql
       as $$ begin raise 'it cannot be read'; end $$`,
      'alter role hub set search_path = failing, pg_catalog',
    );
    try {
      const command = await postgresForCommand(dataDir);
      await command.close();
      expect(await postgresRuns(dataDir)).to.equal(false);
    } finally {
      await change('alter role hub reset search_path', 'drop schema failing cascade');
    }
  });
});
