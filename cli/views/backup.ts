// Backups as hubctl prints them.
import { integer, list, type Of, object, optional, text, time } from '../shapes.ts';
import type { Column } from '../table.ts';

export const BACKUP = object('Backup', {
  file: text('the file'),
  bytes: integer('its size'),
  createdAt: time('the moment whose data it has'),
});
export type BackupReport = Of<typeof BACKUP>;

export const BACKUP_FIELDS: readonly Column<BackupReport>[] = [
  { title: 'Backup', cell: (item) => item.file },
  { title: 'Bytes', cell: (item) => item.bytes },
  { title: 'State of', cell: (item) => item.createdAt },
];

/** What a backup holds. */
export const BACKUP_FACTS = object('BackupFacts', {
  createdAt: time('the moment whose data it has'),
  hubVersion: text('version of the hub that it was made with'),
  postgresVersion: text('version of PostgreSQL that the data is from'),
  masterKeyIds: list(text(), 'ids of the master keys in it'),
  tables: integer('tables'),
  rows: integer('rows of all tables'),
});
export type BackupFacts = Of<typeof BACKUP_FACTS>;

export const BACKUP_FACTS_FIELDS: readonly Column<BackupFacts>[] = [
  { title: 'State of', cell: (item) => item.createdAt },
  { title: 'Hub', cell: (item) => item.hubVersion },
  { title: 'PostgreSQL', cell: (item) => item.postgresVersion },
  { title: 'Master keys', cell: (item) => item.masterKeyIds.join(', ') },
  { title: 'Tables', cell: (item) => item.tables },
  { title: 'Rows', cell: (item) => item.rows },
];

export const RESTORED = object('Restored', {
  ...BACKUP_FACTS.properties,
  keyRingFile: optional(text('the key ring file that was made; missing if the hub had it already')),
});
export type RestoreReport = Of<typeof RESTORED>;

export const RESTORED_FIELDS: readonly Column<RestoreReport>[] = [
  ...BACKUP_FACTS_FIELDS,
  { title: 'Key ring', cell: (item) => item.keyRingFile ?? 'the hub had it already' },
];
