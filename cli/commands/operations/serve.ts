// hubctl serve: runs a hub until it receives a signal.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addCommand } from '../../command-help.ts';
import { addSettings, readSettings } from '../../serve/settings.ts';
import { workerNumber } from '../../serve/workers/messages.ts';

export function registerServe(program: Command, commandContext: CommandContext): void {
  const command = addCommand(program, 'serve', {
    description:
      'Runs a hub until SIGTERM, SIGINT or SIGHUP: the public gateway, the internal port (RPC and /metrics) and, without DATABASE_URL, an embedded PostgreSQL in the data directory. With a certificate, SIGHUP reloads it instead. With more than one worker, several processes serve the same two ports, and the hub restarts a process that dies. The log goes to standard output or, with --log-file, to files: one JSON object per line.',
    examples: [
      'DATABASE_URL=postgres://hub@db/hub REDIS_URL=redis://redis hubctl serve --host 0.0.0.0 --workers 4',
    ],
    prints: { other: 'The log, one JSON object a line, with or without `--output json`.' },
  }).action(async (flags) => {
    const settings = readSettings(flags, process.env);
    const { openLogOutput } = await import('../../serve/log-output.ts');
    const log = await openLogOutput(settings, process, workerNumber());
    const options = { dataDir: commandContext.options().dataDir, log };
    if (settings.workers === 1) {
      const { serveUntilStopped } = await import('../../serve/serve-until-stopped.ts');
      return serveUntilStopped(settings, options);
    }
    const { default: cluster } = await import('node:cluster');
    if (cluster.isWorker) {
      const { serveAsWorker } = await import('../../serve/serve-as-worker.ts');
      return serveAsWorker(settings, options);
    }
    const { serveByWorkers } = await import('../../serve/serve-by-workers.ts');
    await serveByWorkers(settings, options);
  });
  addSettings(command);
}
