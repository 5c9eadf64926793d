// hubctl demo: a hub with something to try, and commands to paste.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { usageError } from '../failure.ts';
import { parsePort } from '../quantities.ts';
import { addSettings, readSettings } from '../settings.ts';

export function registerDemo(program: Command, context: Context): void {
  const command = program
    .command('demo')
    .summary('run a hub with licenses and payments to try')
    .description(
      'Runs a hub like serve, with the app demo and a license of three seats in it, and with simulated payment providers, and prints commands to paste. The same data directory keeps the same license.',
    )
    .option('--json', 'print one JSON line once the hub is ready, instead of commands')
    .option(
      '--simulator-port <port>',
      'port of the simulated payment providers; 0 takes any free one (default: 5098 if it is free)',
      parsePort,
    )
    .addHelpText('after', '\nExample:\n  hubctl demo --port 0 --rpc-port 0 --data-dir /tmp/hub-demo --json')
    .action(async (flags) => {
      // Between commands to paste, only what needs attention is worth a line.
      const settings = readSettings(flags, { HUB_LOG_LEVEL: 'warn', ...process.env });
      if (settings.role !== 'all') throw usageError('HUB_ROLE: the demo runs in the role all');
      const { runDemo } = await import('../run-demo.ts');
      await runDemo(settings, {
        dataDir: context.options().dataDir,
        json: flags.json === true,
        simulatorPort: flags.simulatorPort,
        streams: context.streams,
      });
    });
  addSettings(command);
}
