// hubctl demo: runs a hub with sample data and prints commands to try.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addCommand } from '../../command-help.ts';
import { usageError } from '../../errors/failure.ts';
import { parsePort } from '../../parse/parse-number.ts';
import { SETTINGS } from '../../serve/setting-table.ts';
import { addSettings, readSettings } from '../../serve/settings.ts';
import { DEMO } from '../../views/operations/demo.ts';

export function registerDemo(program: Command, commandContext: CommandContext): void {
  const command = addCommand(program, 'demo', {
    description:
      'Runs a hub like serve, with the app demo, a license of three seats and simulated payment providers, and prints commands to try. A data directory keeps its license between runs.',
    notes: ['With --output json it prints one line when the hub is ready, and continues.'],
    examples: ['hubctl demo --port 0 --rpc-port 0 --data-dir /tmp/hub-demo --output json'],
    prints: { lines: DEMO },
  })
    .option(
      '--simulator-port <port>',
      'port of the simulated payment providers; 0 takes any free one (default: 5098 if it is free)',
      parsePort,
    )
    .action(async (flags) => {
      const settings = readSettings(flags, {
        // Log only errors, so that the printed commands stay readable.
        HUB_LOG_LEVEL: 'error',
        HUB_DRAIN_SECONDS: '0',
        // Receivers of events run on this machine too.
        HUB_EVENT_ALLOW_NETWORKS: '127.0.0.0/8,::1/128',
        ...process.env,
      });
      if (settings.role !== 'all') throw usageError('HUB_ROLE: the demo runs in the role all');
      const { runDemo } = await import('../../demo/run-demo.ts');
      await runDemo(settings, {
        dataDir: commandContext.options().dataDir,
        json: commandContext.out.json(),
        simulatorPort: flags.simulatorPort,
        streams: commandContext.streams,
        progress: commandContext.progress,
      });
    });
  const keys = SETTINGS.map(({ key }) => key);
  // The demo runs one process and ignores HUB_WORKERS.
  addSettings(
    command,
    keys.filter((key) => key !== 'workers'),
  );
}
