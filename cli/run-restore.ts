// Restores or checks a backup on the machine of the hub that is to have it.
import { createReadStream, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Loaded } from '../core/backup/load-database.ts';
import type { Manifest } from '../core/backup/manifest.ts';
import { restoreBackup, verifyBackup } from '../core/backup/restore-backup.ts';
import { openDataDir } from '../core/storage/data-dir.ts';
import { usageError } from './failure.ts';
import { findLocalDatabase, openQuietly } from './local-database.ts';
import { megabytes, type Progress } from './progress.ts';
import type { Settings } from './settings.ts';
import { packageVersion } from './version.ts';
import type { BackupFacts, RestoreReport } from './views/backup.ts';

export type ReadBackupOptions = {
  readonly file: string;
  readonly passphrase: () => Promise<string>;
  readonly progress: Progress;
};

/** @throws CliError (usage) if there is no such file; Error that says what else is wrong. */
export async function runRestore(
  settings: Settings,
  { dataDir, ...backup }: ReadBackupOptions & { dataDir: string },
): Promise<RestoreReport> {
  await using undo = new AsyncDisposableStack();
  const { stream, passphrase: chosen } = await openBackup('Restoring', backup, undo);
  const restored = await restoreBackup(stream, {
    // Only now: a wrong passphrase leaves no data directory behind.
    findDatabase: () => findLocalDatabase(settings, dataDir, undo),
    openDatabase: openQuietly,
    dataDir: () => openDataDir(dataDir),
    masterKey: { text: settings.masterKey, file: settings.masterKeyFile },
    hubVersion: packageVersion(),
    passphrase: chosen,
  });
  const { keyRingFile } = restored;
  return { ...factsOf(restored), ...(keyRingFile !== undefined && { keyRingFile }) };
}

/** @throws CliError (usage) if there is no such file; Error that says what is wrong with it. */
export async function runVerify(backup: ReadBackupOptions): Promise<BackupFacts> {
  await using undo = new AsyncDisposableStack();
  const { stream, passphrase } = await openBackup('Checking', backup, undo);
  return factsOf(await verifyBackup(stream, passphrase));
}

/** Asks for the passphrase, and shows from then on how much of the file is read. */
async function openBackup(
  doing: string,
  { file, passphrase, progress }: ReadBackupOptions,
  undo: AsyncDisposableStack,
): Promise<{ stream: ReadStream; passphrase: string }> {
  const { size } = await stat(file).catch((error) => {
    throw usageError(`${file} cannot be read (${error.code}).`);
  });
  const chosen = await passphrase();
  const stream = createReadStream(file);
  const line = progress.show(() => `${doing}: ${megabytes(stream.bytesRead)} of ${megabytes(size)} read`);
  undo.defer(() => line.end());
  return { stream, passphrase: chosen };
}

function factsOf({ manifest, tables, rows }: Loaded & { manifest: Manifest }): BackupFacts {
  const { createdAt, hubVersion, postgresVersion, masterKeyIds } = manifest;
  return { createdAt, hubVersion, postgresVersion, masterKeyIds, tables, rows };
}
