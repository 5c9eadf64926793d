// hubctl demo: a hub with something to try, and commands to paste.
import type { Command } from 'commander';
import { usageError } from '../failure.ts';
import { addVerb } from '../manual.ts';
import { parsePort } from '../quantities.ts';
import { addSettings, readSettings, SETTINGS } from '../settings.ts';
import type { Tools } from '../tools.ts';
import { DEMO } from '../views/demo.ts';

export function registerDemo(program: Command, tools: Tools): void {
  const command = addVerb(program, 'demo', {
    group: 'Running a hub:',
    summary: 'run a hub with licenses and payments to try',
    description:
      'Runs a hub like serve, with the app demo and a license of three seats in it, and with simulated payment providers, and prints commands to paste. The same data directory keeps the same license.',
    notes: ['With --output json it prints one line once the hub is ready, and serves on.'],
    examples: ['hubctl demo --port 0 --rpc-port 0 --data-dir /tmp/hub-demo --output json'],
    prints: { lines: DEMO },
  })
    .option(
      '--simulator-port <port>',
      'port of the simulated payment providers; 0 takes any free one (default: 5098 if it is free)',
      parsePort,
    )
    .action(async (flags) => {
      // Between commands to paste, only what needs attention is worth a line.
      const settings = readSettings(flags, { HUB_LOG_LEVEL: 'warn', HUB_DRAIN_SECONDS: '0', ...process.env });
      if (settings.role !== 'all') throw usageError('HUB_ROLE: the demo runs in the role all');
      const { runDemo } = await import('../run-demo.ts');
      await runDemo(settings, {
        dataDir: tools.options().dataDir,
        json: tools.out.json(),
        simulatorPort: flags.simulatorPort,
        streams: tools.streams,
        progress: tools.progress,
      });
    });
  const keys = SETTINGS.map(({ key }) => key);
  // One process, whatever HUB_WORKERS says: what the demo prepares is not worth more.
  addSettings(
    command,
    keys.filter((key) => key !== 'workers'),
  );
}
