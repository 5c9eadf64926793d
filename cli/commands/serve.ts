// hubctl serve: runs a hub until it is told to stop.
import type { Command } from 'commander';
import { addVerb } from '../manual.ts';
import { addSettings, readSettings } from '../settings.ts';
import type { Tools } from '../tools.ts';
import { workerNumber } from '../worker-messages.ts';

export function registerServe(program: Command, tools: Tools): void {
  const command = addVerb(program, 'serve', {
    group: 'Running a hub:',
    summary: 'run a hub',
    description:
      'Runs a hub until SIGTERM, SIGINT or SIGHUP (which makes a hub with a certificate of its own read that again): the public gateway, the internal port (RPC and /metrics) and, without DATABASE_URL, a PostgreSQL of its own in the data directory. With --workers several processes do so behind the same two ports, and one that dies is started again. The log goes to standard output or, with --log-file, to files; one JSON object a line.',
    examples: ['DATABASE_URL=postgres://hub@db/hub hubctl serve --host 0.0.0.0 --workers 4'],
    prints: { other: 'The log, one JSON object a line, with or without `--output json`.' },
  }).action(async (flags) => {
    const settings = readSettings(flags, process.env);
    const { openLogOutput } = await import('../log-output.ts');
    const log = await openLogOutput(settings, process, workerNumber());
    const options = { dataDir: tools.options().dataDir, log };
    if (settings.workers === 1) {
      const { serveUntilStopped } = await import('../serve-until-stopped.ts');
      return serveUntilStopped(settings, options);
    }
    const { default: cluster } = await import('node:cluster');
    if (cluster.isWorker) {
      const { serveAsWorker } = await import('../serve-as-worker.ts');
      return serveAsWorker(settings, options);
    }
    const { serveByWorkers } = await import('../serve-by-workers.ts');
    await serveByWorkers(settings, options);
  });
  addSettings(command);
}
