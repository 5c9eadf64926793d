// hubctl migrate: the database schema, brought up to date or only looked at.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { addSettings, readSettings } from '../settings.ts';
import type { Column } from '../table.ts';

type MigrationRow = {
  readonly name: string;
  readonly state: 'applied' | 'pending';
  readonly appliedAt?: string;
};

const COLUMNS: readonly Column<MigrationRow>[] = [
  { title: 'MIGRATION', cell: (item) => item.name },
  { title: 'STATE', cell: (item) => item.state },
  { title: 'APPLIED', cell: (item) => item.appliedAt },
];

export function registerMigrate(program: Command, { options, out }: Context): void {
  const migrate = program
    .command('migrate')
    .summary('the database schema')
    .description(
      'Works on the database itself, the one that serve would use with the same settings; no hub has to run. A hub brings its schema up to date when it starts, so this is for those who want it done before.',
    );

  const up = migrate
    .command('up')
    .summary('bring the schema up to date')
    .description('Applies the migrations that are pending. Hubs and commands that start together take turns.')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://hub@db/hub hubctl migrate up')
    .action(async (flags) => {
      const settings = readSettings(flags, process.env);
      const { withLocalDatabase } = await import('../local-database.ts');
      const { migrateUp } = await import('../../core/storage/migrate.ts');
      const names = await withLocalDatabase(settings, options().dataDir, migrateUp);
      await out.list([names.map((name) => ({ name, state: 'applied' as const }))], COLUMNS);
      if (names.length === 0) out.note('Nothing was pending.');
    });

  const status = migrate
    .command('status')
    .summary('list what is applied and what is pending')
    .description('Lists every migration of this version, and whether the database has it.')
    .addHelpText('after', '\nExample:\n  hubctl migrate status --output json')
    .action(async (flags) => {
      const settings = readSettings(flags, process.env);
      const { withLocalDatabase } = await import('../local-database.ts');
      const { knownMigrations, migrationStatus } = await import('../../core/storage/migrate.ts');
      const { dataDir } = options();
      // Where there is no database yet, looking must not make one.
      const isThere = settings.databaseUrl !== undefined || existsSync(join(dataDir, 'postgres'));
      const { applied, pending } = isThere
        ? await withLocalDatabase(settings, dataDir, migrationStatus)
        : { applied: [], pending: await knownMigrations() };
      const rows: MigrationRow[] = [
        ...applied.map(({ name, at }) => ({ name, state: 'applied' as const, appliedAt: at.toISOString() })),
        ...pending.map((name) => ({ name, state: 'pending' as const })),
      ];
      await out.list([rows], COLUMNS);
    });

  for (const command of [up, status]) addSettings(command, ['databaseUrl']);
}
