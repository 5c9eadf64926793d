// hubctl top: what a hub is at, as it happens.
import { type Command, Option } from 'commander';
import { addVerb } from '../manual.ts';
import { parseCount } from '../quantities.ts';
import type { Tools } from '../tools.ts';
import { LOAD } from '../views/load.ts';

export function registerTop(program: Command, tools: Tools): void {
  const { streams, out, progress } = tools;
  addVerb(program, 'top', {
    group: 'Running a hub:',
    summary: 'see what a hub is at, as it happens',
    description:
      'Shows requests and questions to providers with their rates and latencies, callbacks and sessions, what waits, and what the processes and the database do. On a terminal until Ctrl-C; elsewhere, and as JSON, once for the time of an interval.',
    notes: [
      'The figures are those of /metrics, of the hub that is asked, with all its workers; of several hubs each tells of itself, and all tell the same of what is in the database.',
    ],
    examples: ['hubctl top', 'hubctl top --interval 10 --output json'],
    prints: { document: LOAD },
  })
    .addOption(
      new Option('--interval <seconds>', 'the time over which rates are taken')
        .argParser(parseCount)
        .default(2),
    )
    .action(async ({ interval }: { interval: number }) => {
      const { linesOf, lookAtLoad, watchLoad } = await import('../watch-load.ts');
      if (streams.stdout.isTTY && !out.json()) return watchLoad(tools, interval);
      const line = progress.show(() => 'Counting');
      const load = await lookAtLoad(tools, interval).finally(() => line.end());
      if (out.json()) return out.record(load, []);
      return out.text(`${linesOf(load).join('\n')}\n`);
    });
}
