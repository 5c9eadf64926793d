// `npm run bench`: compares the hub with a hand-written peer and with the floor of the machine.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bar, createProgress } from '../../cli/output/progress.ts';
import { createProgram } from '../support/parse-options.ts';
import { CASES_HELP, type CaseName, parseCases } from './cases.ts';
import { interruptible } from './interruptible.ts';
import { PLANS } from './measurement-plan.ts';
import { resultsChart } from './report/chart.ts';
import { resultsPage, withFigures } from './report/page.ts';
import type { Results } from './report/results.ts';
import { resultsTable } from './report/table.ts';
import { runBench } from './run-bench.ts';

const RESULTS = join(import.meta.dirname, 'results');
const README = join(import.meta.dirname, 'README.md');

type Options = {
  readonly quick: boolean;
  readonly smoke: boolean;
  readonly only?: readonly CaseName[];
  readonly out: string;
  readonly from?: string;
  readonly profile?: string;
};

const values = createProgram('npm run bench --')
  .description(
    'Compares the hub with a hand-written service, and with the limits of the machine. A full run takes about 40 minutes, and writes test/bench/results and the tables of test/bench/README.md.',
  )
  .option(
    '--quick',
    'a run of less than two minutes, which leaves the tables of test/bench/README.md as they are',
    false,
  )
  .option('--smoke', 'a short run that only shows that the benchmark works', false)
  .option('--only <cases>', CASES_HELP, parseCases)
  .option(
    '--out <directory>',
    'where to write the results; a run of some cases writes only elsewhere',
    RESULTS,
  )
  .option('--from <file>', 'results: prints them, and writes tables and chart again, without measuring')
  .option('--profile <directory>', 'where to write CPU profiles of hub and peer')
  .showHelpAfterError('npm run bench -- --help lists the options and the other programs')
  .parse()
  .opts<Options>();
// The cast is safe: this program writes these files.
const results =
  values.from === undefined ? await measure() : (JSON.parse(await readFile(values.from, 'utf8')) as Results);
process.stdout.write(resultsTable(results));
// Results of only some of the cases do not replace the published ones.
if (values.only === undefined || values.out !== RESULTS) await keep(results);

async function measure(): Promise<Results> {
  await mkdir(values.out, { recursive: true }); // fails early if the directory cannot be created
  const progress = createProgress(process, process.env);
  const now = { line: '' };
  const shown = progress.show(() => now.line);
  let title = '';
  const say = (line: string): void => {
    progress.clear();
    process.stderr.write(`${line}\n`);
    title = line;
    now.line = '';
  };
  const options = {
    plan: values.smoke ? PLANS.smoke : values.quick ? PLANS.quick : PLANS.full,
    only: values.only,
    keepProfilesIn: values.profile,
    say,
    onStep: (done: number, total: number) => {
      now.line = bar(title, done, total);
    },
  };
  try {
    return await interruptible((start) => runBench(options, start));
  } finally {
    shown.end();
  }
}

async function keep(found: Results): Promise<void> {
  const file = (ending: string): string => join(values.out, `${found.plan}.${ending}`);
  await writeFile(file('json'), `${JSON.stringify(found, null, 2)}\n`);
  await writeFile(file('svg'), resultsChart(found));
  if (values.out !== RESULTS) await writeFile(file('md'), resultsPage(found));
  else if (found.plan === 'full') await writeFile(README, withFigures(await readFile(README, 'utf8'), found));
}
