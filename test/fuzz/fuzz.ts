// npm run fuzz: sends random inputs to every RPC and route, and reports defects. fuzz.test.ts is the short form.

import { Option } from 'commander';
import { parseCount } from '../../cli/parse/parse-number.ts';
import { createProgram, seedOption } from '../support/parse-options.ts';
import { prepareTemplate, startPostgres } from '../support/postgres/databases.ts';
import { type FuzzReport, fuzz } from './run-fuzz.ts';

const { runs, seed } = createProgram('npm run fuzz --')
  .description('Sends random inputs to every RPC and route, and reports defects.')
  .addOption(
    new Option('--runs <number>', 'inputs to send')
      .env('HUB_FUZZ_RUNS')
      .argParser(parseCount)
      .default(100_000),
  )
  .addOption(seedOption('repeats the inputs of a run').env('HUB_FUZZ_SEED'))
  .parse()
  .opts<{ readonly runs: number; readonly seed: number }>();
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
