// `npm run bench -- scale`: measures hubs on databases of ten thousand to ten million licenses.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCount } from '../../../cli/parse/parse-number.ts';
import { discard } from '../../support/hub/data-dir.ts';
import { createProgram, parseCounts, parseList } from '../../support/parse-options.ts';
import { asSuperuser, createDatabase, startEmbedded, useServer } from '../../support/postgres/databases.ts';
import { findRedis, foundRedis } from '../../support/redis/redis.ts';
import { interruptible } from '../interruptible.ts';
import { howBusy } from '../machine.ts';
import { prepare } from './prepare.ts';
import { writeReport } from './report.ts';
import { type PreparedDatabase, runScale, sharedBuffersOf } from './run-scale.ts';

type Options = {
  readonly licenses: readonly number[];
  readonly rounds: number;
  readonly settings: readonly (readonly string[])[];
  readonly prewarm: boolean;
  readonly cached: boolean;
  readonly write: boolean;
};

const program = createProgram('npm run bench -- scale')
  .description('Measures hubs on databases of different sizes.')
  .option(
    '--licenses <numbers>',
    'comma-separated sizes, in ascending order; ten million take 36 GB of disk, and max_wal_size',
    parseCounts,
    [10_000, 1_000_000],
  )
  .option('--rounds <number>', 'times that each size is measured', parseCount, 3)
  .option(
    '--settings <settings>',
    'measures again with these settings of PostgreSQL, separated by commas: shared_buffers=6GB; repeat it for several sets',
    (text, earlier: readonly (readonly string[])[]) => [...earlier, parseList(text)],
    [],
  )
  .option(
    '--prewarm',
    'with --settings: first loads the tables of the requests into shared_buffers, by pg_prewarm',
    false,
  )
  .option(
    '--cached',
    "reads the tables of the requests before each measurement, so that they are in the operating system's cache",
    false,
  )
  .option(
    '--write',
    'writes docs/scale-figures.md, docs/scale-plans.md and test/bench/results/scale.json',
    false,
  )
  .parse();
const { licenses: sizes, rounds, settings, prewarm, cached, write } = program.opts<Options>();
if (prewarm && (settings.length === 0 || settings.some((each) => sharedBuffersOf(each) === undefined))) {
  program.error('--prewarm needs shared_buffers in each --settings');
}
const say = (line: string): void => void process.stderr.write(`${line}\n`);
await interruptible(async (start) => {
  const busy = await howBusy();
  const postgres = await start(startEmbedded, (server) => server.stop());
  useServer(postgres);
  // An invalid setting fails here, not after half an hour.
  for (const each of settings) await postgres.restart(each);
  if (settings.length > 0) await postgres.restart([]);
  await start(findRedis, (stop) => stop());
  const prepared: PreparedDatabase[] = [];
  for (const licenses of sizes) {
    const databaseUrl = asSuperuser(await createDatabase());
    const dataDir = await start(() => mkdtemp(join(tmpdir(), 'hub-scale-')), discard);
    const log = (line: string): void => say(`${licenses}: ${line}`);
    const { population } = await prepare({ databaseUrl, dataDir, licenses, log });
    prepared.push({ databaseUrl, dataDir, population });
  }
  const results = await runScale(
    { prepared, redisUrl: foundRedis(), busy, rounds, postgres, settings, loadsTables: prewarm, cached, say },
    start,
  );
  const { figures, plans, json } = writeReport(results);
  if (write) {
    const root = join(import.meta.dirname, '../../..');
    await writeFile(join(root, 'docs/scale-figures.md'), figures);
    await writeFile(join(root, 'docs/scale-plans.md'), plans);
    await writeFile(join(root, 'test/bench/results/scale.json'), json);
  } else process.stdout.write(figures);
});
