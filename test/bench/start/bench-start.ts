// `npm run bench -- start`: measures the hub's start time, its idle memory and hubctl's response time, as
// medians.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { parseCount } from '../../../cli/parse/parse-number.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { HUBCTL, type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { createProgram } from '../../support/parse-options.ts';
import { createDatabase, startFlushingPostgres } from '../../support/postgres/databases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { median } from '../median.ts';

type Memory = { readonly rss: number; readonly pss: number; readonly own: number };

const { rounds, idle, redis, program } = createProgram('npm run bench -- start')
  .description('Measures the start of a hub, its idle memory, and the response time of hubctl.')
  .option('--rounds <number>', 'times that the hub is started', parseCount, 10)
  .option('--idle <seconds>', 'time from the start until the memory is read', parseCount, 5)
  .option('--redis <url>', 'Redis of the hub; by default, the hub has none')
  .option('--program <file>', 'the hubctl.js to measure, such as that of an installed package', HUBCTL)
  .parse()
  .opts<{
    readonly rounds: number;
    readonly idle: number;
    readonly redis?: string;
    readonly program: string;
  }>();

process.stdout.write(await interruptible(measure));

async function measure(start: Start): Promise<string> {
  await start(startFlushingPostgres, (stop) => stop());
  const dataDir = await start(makeDataDir, discard);
  const settings = {
    HUB_DATA_DIR: dataDir,
    DATABASE_URL: await createDatabase(),
    ...(redis !== undefined && { REDIS_URL: redis }),
  };
  const startHub = (): Promise<HubProcess> =>
    start(
      () => spawnHub(settings, undefined, program),
      (hub) => hub.stop().then(() => {}),
    );
  // The first start creates the schema. It also fills the compile cache, if there is one, like the first
  // start after an update.
  await (await startHub()).stop();
  await hubctl(dataDir, 'app', 'list').catch(() => {}); // fails without a hub, but fills the cache

  const ready: number[] = [];
  const memory: Memory[] = [];
  const help: number[] = [];
  const first: number[] = [];
  const command: number[] = [];
  for (let round = 0; round < rounds; round++) {
    help.push(await timed(() => hubctl(dataDir, '--help')));
    const begun = performance.now();
    const hub = await startHub();
    ready.push(performance.now() - begun);
    await setTimeout(idle * 1_000);
    memory.push(await memoryOf(hub.child.pid));
    first.push(await timed(() => hubctl(dataDir, 'app', 'list')));
    command.push(await timed(() => hubctl(dataDir, 'app', 'list')));
    await hub.stop();
  }
  const each = (name: keyof Memory): number[] => memory.map((one) => one[name]);
  return `
| what | median of ${rounds} | least | most | target |
|---|---|---|---|---|
${row('hub ready, external database, ms', ready, '< 1000')}
${row(`RSS after ${idle} s idle, MB`, each('rss'), '< 120')}
${row(`PSS after ${idle} s idle, MB`, each('pss'), '')}
${row(`private memory after ${idle} s idle, MB`, each('own'), '')}
${row('`hubctl --help`, ms', help, '< 120')}
${row('`hubctl app list` at a running hub, ms', command, '< 250')}
${row('first `hubctl app list` after the start, ms', first, '< 250')}
`;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function hubctl(dataDir: string, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { HUB_DATA_DIR: dataDir },
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`hubctl ${args.join(' ')} exited with ${code}`);
}

/** Memory by Linux's accounting, in MB of 1000 kB, the unit of the targets. */
async function memoryOf(pid: number | undefined): Promise<Memory> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (name: string): number =>
    (Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(text)?.[1]) * 1024) / 1e6;
  return {
    rss: megabytes('Rss'),
    pss: megabytes('Pss'),
    own: megabytes('Private_Clean') + megabytes('Private_Dirty'),
  };
}

function row(what: string, values: readonly number[], target: string): string {
  const sorted = values.toSorted((a, b) => a - b);
  const cells = [median(values), sorted[0] ?? 0, sorted.at(-1) ?? 0].map((value) => value.toFixed(0));
  return `| ${[what, ...cells, target].join(' | ')} |`;
}
