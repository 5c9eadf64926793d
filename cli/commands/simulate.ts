// hubctl simulate: both payment providers, simulated.
import { randomInt } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { addVerb } from '../manual.ts';
import { parseInteger, parsePort } from '../quantities.ts';
import type { Tools } from '../tools.ts';
import { SIMULATOR } from '../views/simulator.ts';

export function registerSimulate(program: Command, { out, streams }: Tools): void {
  addVerb(program, 'simulate', {
    group: 'Running a hub:',
    summary: 'simulate the payment providers',
    description:
      'Runs both payment providers over HTTP until SIGTERM, SIGINT or SIGHUP, with a checkout page on which one can pay, fail or cancel. It takes no real money, and its payments are gone when it ends. Faults happen at random with --fault-rate, or on request through its control interface.',
    notes: ['With --output json it prints one line once it is ready, and goes on.'],
    examples: ['hubctl simulate --fault-rate 0.1 --fault-seed 7 --credentials-dir /tmp/simulator'],
    prints: { lines: SIMULATOR },
  })
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 takes any free one', parsePort, 5098)
    .option('--fault-rate <share>', 'share of operations with a fault, from 0 to 1', parseRate, 0)
    .option('--fault-seed <n>', 'repeats the faults of a run; random without it', parseInteger)
    .addOption(
      new Option('--payment-id-field <name>', 'how gateway_two spells the payment id in requests')
        .choices(['paymentId', 'paymentID'])
        .default('paymentId'),
    )
    .option('--credentials-dir <dir>', 'writes gateway_one.json and gateway_two.json for slot add there')
    .action(async ({ host, port, faultRate, faultSeed, paymentIdField, credentialsDir }) => {
      const { runSimulator } = await import('../simulator/run-simulator.ts');
      await runSimulator({
        host,
        port,
        plan: { rate: faultRate, seed: faultSeed ?? randomInt(1_000_000) },
        paymentIdField,
        credentialsDir,
        json: out.json(),
        streams,
      });
    });
}

function parseRate(text: string): number {
  const rate = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(rate >= 0 && rate <= 1)) throw new InvalidArgumentError('Give a number from 0 to 1, such as 0.1.');
  return rate;
}
