// hubctl doctor: finds problems of the hub on this machine and suggests fixes.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addCommand } from '../../command-help.ts';
import { CliError, EXIT } from '../../errors/failure.ts';
import { addWatch, watchItems } from '../../output/watch-list.ts';
import { addSettings } from '../../serve/settings.ts';
import { CHECK_RESULT, CHECK_RESULT_COLUMNS } from '../../views/operations/check-result.ts';

export function registerDoctor(program: Command, commandContext: CommandContext): void {
  const command = addCommand(program, 'doctor', {
    description:
      'Checks the configuration, the data directory, the keys and the secrets they encrypt, the database, dead and waiting callbacks, disabled endpoints, Redis, the clock and the running hub (its processes, tasks, sweep, orders, fees, events, endpoints, partitions, audit chain and certificate), with the settings of serve. Changes nothing. Starts a stopped embedded PostgreSQL for the duration of the checks. Exits 1 if a check failed.',
    examples: ['hubctl doctor --output json', 'hubctl doctor --watch --interval 10'],
    prints: { list: CHECK_RESULT },
  });
  addWatch(command).action(async ({ watch, interval, ...flags }) => {
    const { runChecks } = await import('../../doctor/checks.ts');
    if (watch) {
      const look = () => runChecks(flags, process.env, commandContext);
      const watched = { look, columns: CHECK_RESULT_COLUMNS, newestFirst: false, none: '' };
      return watchItems(commandContext, watched, interval);
    }
    const line = commandContext.progress.show(() => 'Checking the hub');
    const findings = await runChecks(flags, process.env, commandContext).finally(() => line.end());
    await commandContext.out.list([findings], CHECK_RESULT_COLUMNS);
    const failed = findings.filter((finding) => finding.state === 'failed').length;
    if (failed > 0)
      throw new CliError('unhealthy', EXIT.failed, `${failed} of ${findings.length} checks failed.`);
  });
  addSettings(command);
}
