// hubctl top: live throughput and latency.
import { type Command, Option } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addCommand } from '../../command-help.ts';
import { parseInterval } from '../../parse/parse-number.ts';
import { LOAD } from '../../views/operations/load.ts';

export function registerTop(program: Command, commandContext: CommandContext): void {
  const { streams, out, progress } = commandContext;
  addCommand(program, 'top', {
    description:
      'Shows requests and provider calls with their rates and latencies, callbacks and sessions, queues, processes and the database. Runs until Ctrl-C on a terminal; prints one interval otherwise and with JSON.',
    notes: [
      'The figures come from /metrics of one hub with all its workers. With several hubs, each reports its own requests; database figures are the same on all.',
    ],
    examples: ['hubctl top', 'hubctl top --interval 10 --output json'],
    prints: { document: LOAD },
  })
    .addOption(new Option('--interval <seconds>', 'interval for rates').argParser(parseInterval).default(2))
    .action(async ({ interval }: { interval: number }) => {
      const { linesOf, lookAtLoad, watchLoad } = await import('../../output/watch-load.ts');
      if (streams.stdout.isTTY && !out.json()) return watchLoad(commandContext, interval);
      const line = progress.show(() => 'Counting');
      const load = await lookAtLoad(commandContext, interval).finally(() => line.end());
      if (out.json()) return out.record(load, []);
      return out.text(`${linesOf(load).join('\n')}\n`);
    });
}
