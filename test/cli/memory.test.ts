// What a hub keeps in memory while nobody asks anything of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { discard, makeDataDir } from '../support/data-dir.ts';
import { spawnHub } from '../support/hub-process.ts';
import { createDatabase } from '../support/postgres.ts';

/** kB of RAM that a process holds now. */
async function residentKb(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
}

describe('a hub that has started', function () {
  this.timeout(60_000); // it starts a hub

  it('has given back the memory that loading took', async function () {
    if (process.platform !== 'linux') this.skip();
    const dataDir = await makeDataDir();
    const bare = spawn(process.execPath, ['-e', 'console.log("up"); setInterval(() => {}, 1000)']);
    await once(bare.stdout, 'data');
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: await createDatabase() });
    const times = (await residentKb(hub.child.pid)) / (await residentKb(bare.pid));
    bare.kill();
    await hub.stop();
    await discard(dataDir);
    // A hub that keeps everything has more than four times as much.
    expect(times, 'memory of a hub, in times that of an empty Node.js').to.be.below(3.6);
  });
});
