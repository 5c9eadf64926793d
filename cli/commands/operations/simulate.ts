// hubctl simulate: runs simulators of the payment providers.
import { randomInt } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addCommand } from '../../command-help.ts';
import { parseInteger, parsePort } from '../../parse/parse-number.ts';
import { SIMULATOR } from '../../views/operations/simulator.ts';

export function registerSimulate(program: Command, { out, streams }: CommandContext): void {
  addCommand(program, 'simulate', {
    description:
      'Simulates the payment providers over HTTP until SIGTERM, SIGINT or SIGHUP, with a checkout page to pay, fail or cancel. It takes no real money and forgets its payments when it ends. Faults occur at random with --fault-rate, or on request through the control API.',
    notes: ['With --output json it prints one line when it is ready, and continues.'],
    examples: ['hubctl simulate --fault-rate 0.1 --fault-seed 7 --credentials-dir /tmp/simulator'],
    prints: { lines: SIMULATOR },
  })
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 takes any free one', parsePort, 5098)
    .option('--fault-rate <share>', 'fraction of operations with a fault, from 0 to 1', parseRate, 0)
    .option('--fault-seed <n>', 'seed that repeats the faults of a run (default: random)', parseInteger)
    .addOption(
      new Option('--payment-id-field <name>', 'how gateway_two spells the payment id in requests')
        .choices(['paymentId', 'paymentID'])
        .default('paymentId'),
    )
    .option(
      '--credentials-dir <dir>',
      'directory for gateway_one.json, gateway_two.json and stripe.json, for slot add',
    )
    .option(
      '--stripe-webhook <url>',
      'webhook for events of Stripe (default: of the hub that created the last checkout)',
    )
    .action(async ({ host, port, faultRate, faultSeed, paymentIdField, credentialsDir, stripeWebhook }) => {
      const { runSimulator } = await import('../../simulator/run-simulator.ts');
      await runSimulator({
        host,
        port,
        plan: { rate: faultRate, seed: faultSeed ?? randomInt(1_000_000) },
        paymentIdField,
        credentialsDir,
        ...(stripeWebhook && { stripeWebhookUrl: stripeWebhook }),
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
