// `npm run bench`: the hub against a hand-written peer and against the floor of the machine.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { CaseName } from './cases.ts';
import { interruptible } from './interruptible.ts';
import { PLANS } from './plan.ts';
import { resultsChart } from './report/chart.ts';
import { resultsTable } from './report/table.ts';
import { runBench } from './run-bench.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    /** Names of cases, separated by commas. */
    only: { type: 'string' },
    /** Where the results go. */
    out: { type: 'string', default: join(import.meta.dirname, 'results') },
    /** A directory for a CPU profile of the hub. */
    profile: { type: 'string' },
  },
});
const plan = values.smoke ? PLANS.smoke : values.quick ? PLANS.quick : PLANS.full;
const options = {
  plan,
  only: values.only?.split(',') as CaseName[] | undefined,
  nodeArgs: values.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', values.profile],
  say: (line: string) => void process.stderr.write(`${line}\n`),
};
const results = await interruptible((start) => runBench(options, start));
process.stdout.write(resultsTable(results));
// Figures of a part of the cases, or of a server that is profiled, are not for keeping.
if (values.only === undefined && values.profile === undefined) {
  await writeFile(join(values.out, `${plan.name}.json`), `${JSON.stringify(results, null, 2)}\n`);
  await writeFile(join(values.out, `${plan.name}.svg`), resultsChart(results));
}
