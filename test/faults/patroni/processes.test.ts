// Finds and ends processes by their working directory.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeDataDir } from '../../support/hub/data-dir.ts';
import { until } from '../../support/until.ts';
import { freezeIn, guardDirectory, killIn, processesIn, thawIn } from './processes.ts';

(process.platform === 'linux' ? describe : describe.skip)('the processes in a directory', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await realpath(await makeDataDir());
  });
  afterEach(async () => {
    await killIn(directory);
    await rm(directory, { recursive: true, force: true });
  });

  const sleepIn = (cwd: string) => {
    const child = spawn('sleep', ['60'], { cwd, stdio: 'ignore' });
    return { child, ended: once(child, 'exit') };
  };

  it('are those in that directory or below, and no others', async () => {
    const below = join(directory, 'below');
    const beside = `${directory}-beside`;
    await Promise.all([mkdir(below), mkdir(beside)]);
    const inside = [sleepIn(directory), sleepIn(below)];
    const outside = sleepIn(beside);
    try {
      const pids = inside.map(({ child }) => child.pid);
      await until(async () => (await processesIn(directory)).length === 2, 'both run');
      expect(await processesIn(directory)).to.have.members(pids);
      await freezeIn(directory);
      await thawIn(directory);
      await killIn(directory);
      expect(await processesIn(directory)).to.deep.equal([]);
      expect(outside.child.exitCode ?? outside.child.signalCode).to.equal(null);
    } finally {
      outside.child.kill('SIGKILL');
      await outside.ended;
      await rm(beside, { recursive: true });
    }
  });

  it('are killed by the guard of the directory, frozen or not, and the directory is removed', async () => {
    const release = guardDirectory(directory);
    const running = [sleepIn(directory), sleepIn(directory)];
    await until(async () => (await processesIn(directory)).length === 2, 'both run');
    running[0]?.child.kill('SIGSTOP');
    await release();
    await Promise.all(running.map(({ ended }) => ended));
    expect(existsSync(directory)).to.equal(false);
  });
});
