// npm run fault: injects one or all faults, and writes a table of the effects on customers.
import { parseArgs } from 'node:util';
import { type StrikeResult, strike } from '../disruptions/strike.ts';
import { DISK_SCENE } from '../scenes/disk-scene.ts';
import { FAILOVER_SCENE } from '../scenes/failover-scene.ts';
import type { Fault, Scene, Stage } from '../scenes/scene.ts';
import { SERVERS_SCENE } from '../scenes/servers-scene.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '30' } },
});
const seconds = Number(values.seconds);
if (!(seconds > 0)) throw new Error('--seconds has to be a number above 0');
const names = [...SERVERS_SCENE.faults, ...DISK_SCENE.faults, ...FAILOVER_SCENE.faults].map(
  ({ name }) => name,
);
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0)
  throw new Error(`no fault is called ${unknown.join(', ')}; there are ${names.join(', ')}`);

write(
  '| fault | served | refused | cut off | callbacks answered | not answered | slowest | back after | settled after | wrong |',
);
write('|---|---|---|---|---|---|---|---|---|---|');
await run(SERVERS_SCENE);
await run(DISK_SCENE);
await run(FAILOVER_SCENE);

async function run<S extends Stage>({ faults, needs, open }: Scene<S>): Promise<void> {
  const wanted = faults.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
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
