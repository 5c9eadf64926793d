// npm run fault -- failover: repeats failovers of a PostgreSQL cluster under Patroni, and writes a table.

import { parseCount } from '../../../cli/parse/parse-number.ts';
import { createProgram, faultsArgument } from '../../support/parse-options.ts';
import { type StrikeResult, strike } from '../disruptions/strike.ts';
import { pageTimes, timesFor } from './configuration.ts';
import { type FailoverReport, reportFailover, seconds, spread } from './failover-report.ts';
import { missingPackages } from './patroni-cluster.ts';
import { openPatroni, PATRONI_FAULTS } from './patroni-scene.ts';

/** The time limit of a round, and of setup and teardown. It also allows for a busy machine. */
const ROUND_MS = 240_000;

type Round = {
  readonly result: StrikeResult;
  readonly report: FailoverReport;
  readonly wrong: readonly string[];
};

type Options = { readonly rounds: number; readonly ttl?: number; readonly hosts: boolean };

const command = createProgram('npm run fault -- failover')
  .description('Repeats failovers of a PostgreSQL cluster under Patroni, and writes a table.')
  .addArgument(faultsArgument(PATRONI_FAULTS))
  .option('--rounds <number>', 'rounds of each fault', parseCount, 10)
  .option('--ttl <seconds>', "Patroni's ttl; default: that of the documentation", parseCount)
  .option('--hosts', 'a URL with several hosts instead of HAProxy', false)
  .parse();
const { rounds, ttl, hosts } = command.opts<Options>();
const times = ttl === undefined ? pageTimes() : timesFor(ttl);
const names = command.args.length > 0 ? command.args : PATRONI_FAULTS.map(({ name }) => name);
const faults = names.flatMap((name) => PATRONI_FAULTS.filter((fault) => fault.name === name));

// The started programs end with this process.
const limit = setTimeout(
  () => {
    write('WRONG: it takes too long');
    process.exit(1);
  },
  ROUND_MS * (rounds * faults.length + 1),
);
const stage = await openPatroni(times.ttl, hosts ? 'hosts' : 'haproxy');
if (stage === undefined) throw new Error(`this needs Linux, and the packages ${missingPackages() ?? ''}`);
const summary: string[] = [];
try {
  write(`ttl ${times.ttl} s, loop_wait ${times.loop_wait} s, retry_timeout ${times.retry_timeout} s`);
  write('');
  writeTable(
    '| fault | Patroni | writes back after | last refusal after | `/readyz` 503 | served | refused | cut off | callbacks answered | not answered | paid | wrong |',
  );
  for (const fault of faults) {
    const ran: Round[] = [];
    for (let number = 1; number <= rounds; number++) {
      const result = await strike(stage, fault, 0);
      const failover = stage.failovers.at(-1);
      if (failover === undefined) throw new Error('unreachable: the fault has struck');
      const report = reportFailover(failover, result.answers, result.probes);
      const round = { result, report, wrong: [...result.trouble, ...report.violations] };
      show(round);
      ran.push(round);
    }
    summary.push(summarize(fault.what, ran));
  }
  write('');
  writeTable(
    '| fault | rounds | Patroni | writes back after | last refusal after | served | refused | wrong |',
  );
  for (const line of summary) write(line);
} catch (error) {
  write(stage.patroni.output());
  throw error;
} finally {
  await stage.close();
  clearTimeout(limit);
}

function show({ result, report, wrong }: Round): void {
  const { fault, served, refused, cutOff, callbacks, callbacksRefused, paid } = result;
  const cells = [
    fault,
    ...[report.patroniMs, report.writesMs, report.refusedMs].map((ms) => `${seconds(ms)} s`),
    `${report.notReady} of ${report.probes}`,
    ...[served, refused, cutOff, callbacks, callbacksRefused, paid, wrong.length],
  ];
  write(`| ${cells.join(' | ')} |`);
  for (const each of wrong) write(`WRONG: ${each}`);
  if (wrong.length > 0) process.exitCode = 1;
}

function summarize(what: string, ran: readonly Round[]): string {
  const sum = (count: (round: Round) => number): number =>
    ran.reduce((total, round) => total + count(round), 0);
  const cells = [
    what,
    ran.length,
    spread(ran.map(({ report }) => report.patroniMs)),
    spread(ran.map(({ report }) => report.writesMs)),
    spread(ran.map(({ report }) => report.refusedMs)),
    sum(({ result }) => result.served + result.callbacks),
    sum(({ result }) => result.refused + result.callbacksRefused),
    sum(({ wrong }) => wrong.length),
  ];
  return `| ${cells.join(' | ')} |`;
}

function writeTable(head: string): void {
  write(head);
  write(head.replaceAll(/[^|]+/g, '---'));
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}
