// hubctl serve: runs a hub until it is told to stop.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { addSettings, readSettings } from '../settings.ts';

export function registerServe(program: Command, context: Context): void {
  const command = program
    .command('serve')
    .summary('run a hub')
    .description(
      'Runs a hub until SIGTERM or SIGINT: the public gateway, the internal RPC port and, without DATABASE_URL, a PostgreSQL of its own in the data directory. The log goes to standard output, one JSON object a line.',
    )
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://hub@db/hub hubctl serve --host 0.0.0.0')
    .action(async (flags) => {
      const settings = readSettings(flags, process.env);
      const { serveUntilStopped } = await import('../serve-until-stopped.ts');
      await serveUntilStopped(settings, { dataDir: context.options().dataDir, log: process.stdout });
    });
  addSettings(command);
}
