// JSON schemas and columns of backups.
import { integer, list, object, optional, text, time, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';

export const BACKUP = object('Backup', {
  file: text('the file'),
  bytes: integer('its size'),
  createdAt: time('time of the data'),
});
export type BackupReport = ValueOf<typeof BACKUP>;

export const BACKUP_FIELDS: readonly Column<BackupReport>[] = [
  { title: 'Backup', cell: (item) => item.file },
  { title: 'Bytes', cell: (item) => item.bytes },
  { title: 'Data as of', cell: (item) => item.createdAt },
];

/** Contents of a backup. */
export const BACKUP_FACTS = object('BackupFacts', {
  createdAt: time('time of the data'),
  hubVersion: text('hub version that created it'),
  postgresVersion: text('PostgreSQL version of the data'),
  masterKeyIds: list(text(), 'ids of the master keys in it'),
  tables: integer('tables'),
  rows: integer('rows of all tables'),
});
export type BackupFacts = ValueOf<typeof BACKUP_FACTS>;

export const BACKUP_FACTS_FIELDS: readonly Column<BackupFacts>[] = [
  { title: 'Data as of', cell: (item) => item.createdAt },
  { title: 'Hub', cell: (item) => item.hubVersion },
  { title: 'PostgreSQL', cell: (item) => item.postgresVersion },
  { title: 'Master key ids', cell: (item) => item.masterKeyIds.join(', ') },
  { title: 'Tables', cell: (item) => item.tables },
  { title: 'Rows', cell: (item) => item.rows },
];

export const RESTORED = object('Restored', {
  ...BACKUP_FACTS.properties,
  keyRingFile: optional(text('the key ring file created; missing if the hub had it already')),
});
export type RestoreReport = ValueOf<typeof RESTORED>;

export const RESTORED_FIELDS: readonly Column<RestoreReport>[] = [
  ...BACKUP_FACTS_FIELDS,
  { title: 'Key ring', cell: (item) => item.keyRingFile ?? 'whether the hub had it already' },
];
