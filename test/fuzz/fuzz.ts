// npm run fuzz: the long form, with any number of inputs.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { prepareTemplate, startPostgres } from '../support/postgres/databases.ts';
import { type FuzzReport, fuzz } from './run-fuzz.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: process.env['HUB_FUZZ_RUNS'] ?? '100000' },
    seed: { type: 'string', default: process.env['HUB_FUZZ_SEED'] ?? String(randomInt(2 ** 31)) },
  },
});
const [runs, seed] = [whole(values.runs, 'runs'), whole(values.seed, 'seed')];
const stopPostgres = await startPostgres();
try {
  await prepareTemplate();
  const onRound = (each: number, size: number): void => {
    process.stderr.write(`seed ${each}, ${size} inputs\n`);
  };
  const report = await fuzz({ runs, seed, onRound });
  process.stdout.write(table(report));
  if (report.defects.length > 0) process.exitCode = 1;
} finally {
  await stopPostgres();
}

function table({ inputs, seconds, targets, defects }: FuzzReport): string {
  const rows = [...targets].sort(([one], [other]) => one.localeCompare(other));
  const lines = [
    `${'target'.padEnd(70)}${'inputs'.padStart(8)}${'granted'.padStart(9)}`,
    ...rows.map(
      ([name, { sent, granted }]) =>
        `${name.padEnd(70)}${String(sent).padStart(8)}${String(granted).padStart(9)}`,
    ),
    `${inputs} inputs in ${seconds} s, first seed ${seed}: ${defects.length === 0 ? 'no defect' : 'DEFECTS'}`,
    ...defects,
  ];
  return `${lines.join('\n')}\n`;
}

function whole(text: string, option: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new Error(`--${option} has to be a whole number from 1`);
  return number;
}
