// hubctl doctor: says what is wrong with a hub on this machine, and how to mend it.
import type { Command } from 'commander';
import { CliError, EXIT } from '../failure.ts';
import { addVerb } from '../manual.ts';
import { addSettings } from '../settings.ts';
import { list } from '../shapes.ts';
import type { Tools } from '../tools.ts';
import { FINDING, FINDING_COLUMNS } from '../views/finding.ts';
import { addWatch, watchItems } from '../watch-list.ts';

export function registerDoctor(program: Command, tools: Tools): void {
  const command = addVerb(program, 'doctor', {
    group: 'Running a hub:',
    summary: 'find out what is wrong with a hub, and how to mend it',
    description:
      'Looks at the configuration, the data directory, the keys and what they seal, the database, callbacks that were given up or wait, Redis, the clock and the running hub (its processes, tasks, sweep, partitions, audit chain and certificate), with the settings that serve would use. Changes nothing; an embedded PostgreSQL that does not run is started for as long as the look takes. Exits 1 if anything failed.',
    examples: ['hubctl doctor --output json', 'hubctl doctor --watch --interval 10'],
    prints: { document: list(FINDING) },
  });
  addWatch(command).action(async ({ watch, interval, ...flags }) => {
    const { examine } = await import('../examine.ts');
    if (watch) {
      const look = () => examine(flags, process.env, tools);
      return watchItems(
        tools,
        { look, columns: FINDING_COLUMNS, id: (item) => item.check, newestFirst: false, none: '' },
        interval,
      );
    }
    const line = tools.progress.show(() => 'Examining the hub');
    const findings = await examine(flags, process.env, tools).finally(() => line.end());
    await tools.out.list([findings], FINDING_COLUMNS);
    const failed = findings.filter((finding) => finding.state === 'failed').length;
    if (failed > 0)
      throw new CliError('unhealthy', EXIT.failed, `${failed} of ${findings.length} checks failed.`);
  });
  addSettings(command);
}
