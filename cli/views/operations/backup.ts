// JSON schemas and columns of backups.
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';

export const BACKUP = json.object('Backup', {
  file: json.text('the file'),
  bytes: json.integer('its size'),
  createdAt: json.time('time of the data'),
});
export type BackupReport = json.ValueOf<typeof BACKUP>;

export const BACKUP_FIELDS: readonly Column<BackupReport>[] = [
  ...columnsOf(BACKUP, { file: 'Backup' }, 'bytes'),
  { title: 'Data as of', cell: (item) => item.createdAt },
];

export const BACKUP_FACTS = json.object('BackupFacts', {
  createdAt: json.time('time of the data'),
  hubVersion: json.text('hub version that created it'),
  postgresVersion: json.text('PostgreSQL version of the data'),
  masterKeyIds: json.list(json.text(), 'ids of the master keys in it'),
  tables: json.integer('tables'),
  rows: json.integer('rows of all tables'),
});
export type BackupFacts = json.ValueOf<typeof BACKUP_FACTS>;

export const BACKUP_FACTS_FIELDS: readonly Column<BackupFacts>[] = [
  { title: 'Data as of', cell: (item) => item.createdAt },
  ...columnsOf(BACKUP_FACTS, { hubVersion: 'Hub', postgresVersion: 'PostgreSQL' }),
  { title: 'Master key ids', cell: (item) => item.masterKeyIds.join(', ') },
  ...columnsOf(BACKUP_FACTS, 'tables', 'rows'),
];

export const RESTORED = json.object('Restored', {
  ...BACKUP_FACTS.properties,
  keyRingFile: json.optional(json.text('the key ring file created; missing if the hub had it already')),
});
export type RestoreReport = json.ValueOf<typeof RESTORED>;

export const RESTORED_FIELDS: readonly Column<RestoreReport>[] = [
  ...BACKUP_FACTS_FIELDS,
  { title: 'Key ring', cell: (item) => item.keyRingFile ?? 'whether the hub had it already' },
];
