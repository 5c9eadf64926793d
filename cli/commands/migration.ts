// hubctl migration: the database schema, brought up to date or only looked at.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { addNoun, addVerb } from '../manual.ts';
import { addSettings, readSettings } from '../settings.ts';
import { boolean, list, type Of, object, oneOf, optional, text, time } from '../shapes.ts';
import type { Column } from '../table.ts';
import type { Tools } from '../tools.ts';
import { packageVersion } from '../version.ts';

const MIGRATION = object('Migration', {
  name: text('its name, which begins with its time'),
  state: oneOf(['applied', 'pending'], 'whether the database has it'),
  compatible: optional(boolean('whether hubs that do not know it may serve on its schema')),
  appliedAt: optional(time('when it was applied; missing of those that this call applied')),
});
type MigrationView = Of<typeof MIGRATION>;

const COLUMNS: readonly Column<MigrationView>[] = [
  { title: 'MIGRATION', cell: (item) => item.name },
  { title: 'STATE', cell: (item) => item.state },
  {
    title: 'COMPATIBLE',
    cell: (item) => (item.compatible === undefined ? '' : item.compatible ? 'yes' : 'no'),
  },
  { title: 'APPLIED', cell: (item) => item.appliedAt },
];

export function registerMigration(program: Command, { options, out, progress, interruption }: Tools): void {
  const migration = addNoun(program, 'migration', {
    group: 'Administration:',
    summary: 'the database schema',
    description:
      'The changes of the database schema. Works on the database itself, the one that serve would use with the same settings; no hub has to run. A hub brings its schema up to date when it starts, so this is for those who want it done before.',
  });

  const apply = addVerb(migration, 'apply', {
    summary: 'bring the schema up to date',
    description: 'Applies the migrations that are pending. Hubs and commands that start together take turns.',
    notes: [
      'With --serving-role, hubs need not own the tables: run this as the role that does, and hubs with the other one, which must exist. It is remembered, and later runs give that role what new tables it needs.',
    ],
    examples: [
      'DATABASE_URL=postgres://hub@db/hub hubctl migration apply',
      'DATABASE_URL=postgres://hub_owner@db/hub hubctl migration apply --serving-role hub',
    ],
    prints: { document: list(MIGRATION) },
  })
    .option('--serving-role <role>', 'let hubs serve with this role, which cannot change the audit log')
    .action(async (flags) => {
      const settings = readSettings(flags, process.env);
      const { withLocalDatabase } = await import('../local-database.ts');
      const { bringUpToDate, letServe } = await import('../../core/schema.ts');
      const { requireKnownSchema } = await import('../../core/storage/newer-schema.ts');
      const { systemClock } = await import('../../core/clock.ts');
      const actor = { kind: 'local', name: 'hubctl migration apply', requestId: '' } as const;
      const servingRole: string | undefined = flags.servingRole;
      interruption.hold(); // a migration under way is finished, and an embedded PostgreSQL is stopped
      const line = progress.show(() => 'Applying migrations');
      const names = await withLocalDatabase(settings, options().dataDir, async (db) => {
        await requireKnownSchema(db, packageVersion());
        const applied = await bringUpToDate({ db, actor, clock: systemClock });
        if (servingRole !== undefined) await letServe({ db, actor, clock: systemClock }, servingRole);
        return applied;
      }).finally(() => line.end());
      await out.list([names.map((name) => ({ name, state: 'applied' as const }))], COLUMNS, {
        ofChange: true,
      });
      if (names.length === 0) out.note('Nothing was pending.');
      if (servingRole !== undefined) out.note(`Hubs can serve with the role ${servingRole}.`);
    });

  const listing = addVerb(migration, 'list', {
    summary: 'list what is applied and what is pending',
    description: 'Lists every migration of this version, and whether the database has it.',
    examples: ['hubctl migration list --output json'],
    prints: { document: list(MIGRATION) },
  }).action(async (flags) => {
    const settings = readSettings(flags, process.env);
    const { withLocalDatabase } = await import('../local-database.ts');
    const { isCompatible, knownMigrations, migrationStatus } = await import('../../core/storage/migrate.ts');
    const { dataDir } = options();
    // Where there is no database yet, looking must not make one.
    const isThere = settings.databaseUrl !== undefined || existsSync(join(dataDir, 'postgres'));
    const line = progress.show(() => 'Looking at the database');
    const { applied, pending } = isThere
      ? await withLocalDatabase(settings, dataDir, migrationStatus).finally(() => line.end())
      : { applied: [], pending: await knownMigrations() };
    const found: MigrationView[] = [
      ...applied.map(({ name, at }) => ({ name, state: 'applied' as const, appliedAt: at.toISOString() })),
      ...pending.map((name) => ({ name, state: 'pending' as const })),
    ];
    const known = await knownMigrations();
    // A newer version has applied those that this one does not know.
    const withMark = async (row: MigrationView): Promise<MigrationView> =>
      known.includes(row.name) ? { ...row, compatible: await isCompatible(row.name) } : row;
    await out.list([await Promise.all(found.map(withMark))], COLUMNS);
  });

  for (const command of [apply, listing])
    addSettings(command, ['databaseUrl', 'databaseSchema', 'databasePooler', 'databaseDirectUrl']);
}
