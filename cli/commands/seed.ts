// hubctl seed: fills a hub with something to try.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { DemoLicense } from '../seed-demo.ts';
import type { Column } from '../table.ts';

const FIELDS: readonly Column<DemoLicense>[] = [
  { title: 'License key', cell: (item) => item.licenseKey },
  { title: 'License', cell: (item) => item.licenseId },
  { title: 'App', cell: (item) => item.app },
  { title: 'Seats', cell: (item) => item.seats },
];

export function registerSeed(program: Command, { hub, out }: Context): void {
  const seed = program
    .command('seed')
    .summary('something to try')
    .description('Fills a hub with something to try.');

  seed
    .command('demo')
    .summary('make the demo app and a license')
    .description(
      'Makes the app demo with the profiles free and pro, and issues a license with 3 seats. What exists is kept; each run issues another license.',
    )
    .addHelpText('after', '\nExample:\n  hubctl seed demo')
    .action(async () => {
      const { admin } = await hub();
      const { seedDemo } = await import('../seed-demo.ts');
      await out.record(await seedDemo(admin), FIELDS);
    });
}
