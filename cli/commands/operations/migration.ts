// hubctl migration: lists and applies migrations of the database schema.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { NOTHING_CHANGED } from '../../interrupt/interruption.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import { addSettings, DATABASE_SETTINGS, readSettings } from '../../serve/settings.ts';
import { packageVersion } from '../../version.ts';
import * as json from '../../views/schema.ts';

const MIGRATION = json.object('Migration', {
  name: json.text('its name, which begins with its time'),
  state: json.oneOf(['applied', 'pending'], 'whether the database has it'),
  compatible: json.optional(json.boolean('whether hubs without it can serve with its schema')),
  appliedAt: json.optional(json.time('when it was applied; absent if this call applied it')),
});
type MigrationView = json.ValueOf<typeof MIGRATION>;

const COLUMNS: readonly Column<MigrationView>[] = [
  ...columnsOf(MIGRATION, { name: 'Migration' }, 'state'),
  {
    title: 'Compatible',
    cell: (item) => (item.compatible === undefined ? '' : item.compatible ? 'yes' : 'no'),
  },
  { title: 'Applied', cell: (item) => item.appliedAt },
];

export function registerMigration(
  program: Command,
  { options, out, progress, interruption }: CommandContext,
): void {
  const migration = addNoun(
    program,
    'migration',
    'Migrations of the database schema. Works directly on the database that serve uses with the same settings; no hub has to run. A hub migrates its schema when it starts: use this to migrate before that.',
  );

  const apply = addVerb(migration, 'apply', {
    summary: 'apply pending migrations',
    description: 'Applies pending migrations. Hubs and commands that start at the same time take turns.',
    notes: [
      'With --serving-role, hubs do not own the tables: run this as the owner, and run hubs with the serving role, which must exist. Later runs grant that role its privileges on new tables.',
    ],
    examples: [
      'DATABASE_URL=postgres://hub@db/hub hubctl migration apply',
      'DATABASE_URL=postgres://hub_owner@db/hub hubctl migration apply --serving-role hub',
    ],
    prints: { list: MIGRATION },
  })
    .option('--serving-role <role>', 'let hubs serve with this role, which cannot change the audit log')
    .action(async (flags) => {
      const settings = readSettings(flags, process.env);
      const { withLocalDatabase } = await import('../../backup/local-database.ts');
      const { migrateSchema, grantServingRole } = await import('../../../core/prepare-schema.ts');
      const { requireKnownSchema } = await import('../../../core/storage/schema/newer-schema.ts');
      const { systemClock } = await import('../../../core/clock.ts');
      const actor = { kind: 'local', name: 'hubctl migration apply', requestId: '' } as const;
      const servingRole: string | undefined = flags.servingRole;
      interruption.hold(); // finish the current migration and stop an embedded PostgreSQL
      const line = progress.show(() => 'Applying migrations');
      const names = await withLocalDatabase(settings, options().dataDir, async (db) => {
        await requireKnownSchema(db, packageVersion());
        const applied = await migrateSchema({ db, actor, clock: systemClock });
        if (servingRole !== undefined) await grantServingRole({ db, actor, clock: systemClock }, servingRole);
        return applied;
      }).finally(() => line.end());
      await out.list([names.map((name) => ({ name, state: 'applied' as const }))], COLUMNS, {
        ofChange: true,
      });
      if (names.length === 0) out.note('Nothing was pending.');
      if (servingRole !== undefined) out.note(`Hubs can serve with the role ${servingRole}.`);
    });

  const listing = addVerb(migration, 'list', {
    summary: 'list applied and pending migrations',
    description: 'Lists every migration of this version, and whether the database has it.',
    examples: ['hubctl migration list --output json'],
    prints: { list: MIGRATION },
  }).action(async (flags) => {
    const settings = readSettings(flags, process.env);
    const { withLocalDatabase } = await import('../../backup/local-database.ts');
    const { isCompatible, knownMigrations, migrationStatus } = await import(
      '../../../core/storage/schema/migrate.ts'
    );
    const { dataDir } = options();
    // Listing must not create a database.
    const isThere = settings.databaseUrl !== undefined || existsSync(join(dataDir, 'postgres'));
    // Stop an embedded PostgreSQL that was started for this.
    if (settings.databaseUrl === undefined) interruption.hold(() => NOTHING_CHANGED);
    const line = progress.show(() => 'Reading the database');
    const known = knownMigrations();
    const { applied, pending } = isThere
      ? await withLocalDatabase(settings, dataDir, migrationStatus).finally(() => line.end())
      : { applied: [], pending: known };
    const found: MigrationView[] = [
      ...applied.map(({ name, at }) => ({ name, state: 'applied' as const, appliedAt: at.toISOString() })),
      ...pending.map((name) => ({ name, state: 'pending' as const })),
    ];
    // A newer version has applied the migrations that this version does not know.
    const withMark = async (row: MigrationView): Promise<MigrationView> =>
      known.includes(row.name) ? { ...row, compatible: await isCompatible(row.name) } : row;
    await out.list([await Promise.all(found.map(withMark))], COLUMNS);
  });

  for (const command of [apply, listing]) addSettings(command, DATABASE_SETTINGS);
}
