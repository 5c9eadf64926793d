// The embedded PostgreSQL that a command starts: who stops it, and when.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { runningServer } from '../../../core/storage/embedded-postgres/lock-file.ts';
import { discard, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
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

  for (const words of [
    ['doctor', '--watch'],
    ['migration', 'list'],
  ]) {
    it(`is stopped by Ctrl-C during \`${words.join(' ')}\``, async () => {
      const { child, printed, end } = startPrinting(words, { HUB_DATA_DIR: dataDir });
      children.push(child);
      const found = async () => (await runningServer(join(dataDir, 'postgres/data')))?.pid;
      await until(async () => (await found()) !== undefined, 'PostgreSQL starts');
      const server = (await found()) ?? 0;
      process.kill(server, 'SIGSTOP'); // the command waits for it
      child.kill('SIGINT');
      const waits = () => printed.stderr.includes('SIGINT: finishing the current call');
      await until(() => waits() || child.signalCode !== null, 'the command has the signal').finally(() =>
        process.kill(server, 'SIGCONT'),
      );
      const { code, stderr } = await end;
      expect(code, stderr).to.equal(130);
      expect(stderr).to.contain('hubctl: Interrupted by SIGINT.');
      await hasStopped();
    });
  }

  it('is stopped by a second signal', async () => {
    const command = await useElsewhere();
    const exited = once(command, 'exit');
    command.kill('SIGTERM');
    expect(await exited).to.deep.equal([143, null]);
    await hasStopped();
  });
});
