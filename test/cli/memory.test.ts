// What a hub keeps in memory while nobody asks anything of it.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
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

const MEMORY = JSON.stringify(new URL('../../cli/memory.ts', import.meta.url).href);

/** Runs a module that knows the functions of `cli/memory.ts` as `memory`; what it printed. */
async function runModule(flags: readonly string[], program: string): Promise<string> {
  const source = `import * as memory from ${MEMORY}; import { setTimeout } from 'node:timers/promises'; ${program}`;
  const child = spawn(process.execPath, [...flags, '--input-type=module', '-e', source]);
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  expect(await once(child, 'close')).to.deep.equal([0, null]); // when all of it has come
  return printed;
}

describe('a program that is not asked for anything after it was busy', function () {
  this.timeout(30_000); // each runs a program for seconds

  it('runs on a V8 that can be told to keep compiled code', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--v8-options']);
    // When it would throw the code away depends on more than time, so that no test here sees it.
    expect(stdout).to.include('--memory-reducer-favors-memory');
  });

  it('gives back its memory once it was quiet for long', async () => {
    const printed = await runModule(
      ['--trace-gc'],
      `
      globalThis.all = Array.from({ length: 2e6 }, (_, n) => ({ n, text: 'of ' + n }));
      memory.releaseWhenQuiet(50);
      globalThis.all = undefined;
      const busy = process.memoryUsage.rss();
      await setTimeout(1_000);
      console.log(process.memoryUsage.rss() / busy);`,
    );
    expect(Number(printed.trim().split('\n').at(-1)), 'what is left, of all it had').to.be.within(0.01, 0.6);
    expect(printed).to.include('(reduce)');
  });

  it('makes ticks as fast as before', async () => {
    const printed = await runModule(
      [],
      `
      const ticks = (count) => new Promise((resolve) => {
        const next = () => (count-- > 0 ? process.nextTick(next) : resolve());
        next();
      });
      const time = async () => {
        const times = [];
        for (let turn = 0; turn < 8; turn++) {
          const begun = performance.now();
          await ticks(300_000);
          times.push(performance.now() - begun);
        }
        return Math.min(...times); // compiled, and undisturbed
      };
      const before = await time();
      memory.releaseMemory();
      console.log((await time()) / before);`,
    );
    // Five times as long, where V8 makes them the slow way.
    expect(Number(printed)).to.be.within(0.01, 2.5);
  });

  it('keeps it while there is something to do', async () => {
    const printed = await runModule(
      ['--trace-gc'],
      `
      memory.releaseWhenQuiet(50);
      const until = performance.now() + 1_000;
      while (performance.now() < until) {
        for (let n = 0; n < 1e6; n++) globalThis.sum = n;
        await setTimeout(1);
      }`,
    );
    expect(printed).not.to.include('(reduce)');
  });
});
