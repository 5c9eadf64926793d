// `npm run bench -- scale`: measures hubs on databases of ten thousand to ten million licenses.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { discard } from '../../support/hub/data-dir.ts';
import { asSuperuser, createDatabase, startEmbedded, useServer } from '../../support/postgres/databases.ts';
import { findRedis, foundRedis } from '../../support/redis/redis.ts';
import { interruptible } from '../interruptible.ts';
import { prepare } from './prepare.ts';
import { writeReport } from './report.ts';
import { type PreparedDatabase, runScale } from './run-scale.ts';

const { values } = parseArgs({
  options: {
    /** Numbers of licenses in ascending order, separated by commas. Ten million take 36 GB of disk. */
    licenses: { type: 'string', default: '10000,1000000' },
    rounds: { type: 'string', default: '3' },
    /** Settings of PostgreSQL for a second measurement, separated by commas, such as shared_buffers=6GB. */
    settings: { type: 'string', default: '' },
    /** Writes docs/scale-figures.md, docs/scale-plans.md and test/bench/results/scale.json. */
    write: { type: 'boolean', default: false },
  },
});
const say = (line: string): void => void process.stderr.write(`${line}\n`);
await interruptible(async (start) => {
  const postgres = await start(startEmbedded, (server) => server.stop());
  useServer(postgres);
  const settings = values.settings.split(',').filter((setting) => setting !== '');
  if (settings.length > 0) {
    await postgres.restart(settings); // an invalid setting fails here, not after half an hour
    await postgres.restart([]);
  }
  await start(findRedis, (stop) => stop());
  const prepared: PreparedDatabase[] = [];
  for (const licenses of values.licenses.split(',').map(Number)) {
    const databaseUrl = asSuperuser(await createDatabase());
    const dataDir = await start(() => mkdtemp(join(tmpdir(), 'hub-scale-')), discard);
    const log = (line: string): void => say(`${licenses}: ${line}`);
    const { population } = await prepare({ databaseUrl, dataDir, licenses, log });
    prepared.push({ databaseUrl, dataDir, population });
  }
  const rounds = Number(values.rounds);
  const results = await runScale(
    { prepared, redisUrl: foundRedis(), rounds, postgres, settings, say },
    start,
  );
  const { figures, plans, json } = writeReport(results);
  if (values.write) {
    const root = join(import.meta.dirname, '../../..');
    await writeFile(join(root, 'docs/scale-figures.md'), figures);
    await writeFile(join(root, 'docs/scale-plans.md'), plans);
    await writeFile(join(root, 'test/bench/results/scale.json'), json);
  } else process.stdout.write(figures);
});
