// npm run fault: injects one or all faults, and writes a table of the effects on customers.
import { createProgram, faultsArgument, parsePositive } from '../../support/parse-options.ts';
import { type StrikeResult, strike } from '../disruptions/strike.ts';
import { DISK_SCENE } from '../scenes/disk-scene.ts';
import { FAILOVER_SCENE } from '../scenes/failover-scene.ts';
import type { Fault, Scene, Stage } from '../scenes/scene.ts';
import { SERVERS_SCENE } from '../scenes/servers-scene.ts';

const allFaults = [...SERVERS_SCENE.faults, ...DISK_SCENE.faults, ...FAILOVER_SCENE.faults];
const command = createProgram('npm run fault --')
  .description('Injects faults, and writes a table of the effects on customers.')
  .addArgument(faultsArgument(allFaults))
  .option('--seconds <number>', 'duration of the load for each fault', parsePositive, 30)
  .showHelpAfterError('npm run fault -- --help lists the options and the other programs')
  .parse();
const { seconds } = command.opts<{ readonly seconds: number }>();
const { args } = command;

write(
  '| fault | served | refused | cut off | callbacks answered | not answered | slowest | back after | settled after | wrong |',
);
write('|---|---|---|---|---|---|---|---|---|---|');
await run(SERVERS_SCENE);
await run(DISK_SCENE);
await run(FAILOVER_SCENE);

async function run<S extends Stage>({ faults, needs, open }: Scene<S>): Promise<void> {
  const wanted = faults.filter(({ name }) => args.length === 0 || args.includes(name));
  if (wanted.length === 0) return;
  const stage = await open();
  if (stage === undefined) return write(`not run, it needs ${needs}: ${wanted.map(({ name }) => name)}`);
  try {
    for (const fault of wanted) report(fault, await strike(stage, fault, seconds * 1_000));
  } finally {
    await stage.close();
  }
}

function report<S>({ what }: Fault<S>, result: StrikeResult): void {
  const { served, refused, cutOff, callbacks, callbacksRefused, slowestMs, recoveryMs, settledMs, trouble } =
    result;
  const times = [slowestMs, recoveryMs, settledMs].map((ms) => `${(ms / 1_000).toFixed(1)} s`);
  const cells = [what, served, refused, cutOff, callbacks, callbacksRefused, ...times, trouble.length];
  write(`| ${cells.join(' | ')} |`);
  for (const each of trouble) write(`WRONG: ${each}`);
  if (trouble.length > 0) process.exitCode = 1;
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}
