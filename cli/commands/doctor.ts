// hubctl doctor: says what is wrong with a hub on this machine, and how to mend it.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../failure.ts';
import { addSettings } from '../settings.ts';
import type { Column } from '../table.ts';

/** What was looked at, what was found, and what to do if it is not well. */
export type Finding = {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly remedy?: string;
};

const COLUMNS: readonly Column<Finding>[] = [
  { title: 'CHECK', cell: (item) => item.check },
  { title: 'STATE', cell: (item) => item.state },
  {
    title: 'DETAIL',
    cell: ({ detail, remedy }) =>
      remedy ? `${detail.replace(/[.]$/, '')}. To mend it: ${remedy.replace(/[.]$/, '')}.` : detail,
  },
];

export function registerDoctor(program: Command, context: Context): void {
  const command = program
    .command('doctor')
    .summary('find out what is wrong with a hub, and how to mend it')
    .description(
      'Looks at the configuration, the data directory, the keys, the database, Redis, the clock and the running hub, with the settings that serve would use. Changes nothing; an embedded PostgreSQL that does not run is started for as long as the look takes. Exits 1 if anything failed.',
    )
    .addHelpText('after', '\nExample:\n  hubctl doctor --output json')
    .action(async (flags) => {
      const { examine } = await import('../examine.ts');
      const findings = await examine(flags, process.env, context);
      await context.out.list([findings], COLUMNS);
      const failed = findings.filter((finding) => finding.state === 'failed').length;
      if (failed > 0)
        throw new CliError('unhealthy', EXIT.failed, `${failed} of ${findings.length} checks failed.`);
    });
  addSettings(command);
}
