// Restores or verifies a backup on the machine of the target hub.
import { createReadStream, type ReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Manifest } from '../../core/backup/manifest.ts';
import type { Loaded } from '../../core/backup/read-archive.ts';
import { restoreBackup, verifyBackup } from '../../core/backup/restore-backup.ts';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { usageError } from '../errors/failure.ts';
import type { Interruption } from '../interrupt/interruption.ts';
import { megabytes, type Progress } from '../output/progress.ts';
import type { Settings } from '../serve/setting-table.ts';
import { packageVersion } from '../version.ts';
import type { BackupFacts, RestoreReport } from '../views/operations/backup.ts';
import { findLocalDatabase, openQuietly } from './local-database.ts';

export type ReadBackupOptions = {
  readonly file: string;
  readonly passphrase: () => Promise<string>;
  readonly progress: Progress;
  readonly interruption: Interruption;
};

/**
 * A signal ends it while it reads the file. After that, the restore is completed.
 * @throws CliError (usage) if the file does not exist, (interrupted) at a signal; Error for any other failure
 */
export async function runRestore(
  settings: Settings,
  { dataDir, ...backup }: ReadBackupOptions & { dataDir: string },
): Promise<RestoreReport> {
  const { interruption } = backup;
  await using undo = new AsyncDisposableStack();
  interruption.hold();
  const { stream, passphrase: chosen } = await openBackup('Restoring', backup, undo);
  const stop = (): void => void stream.destroy(new Error('interrupted'));
  interruption.signal.addEventListener('abort', stop);
  undo.defer(() => interruption.signal.removeEventListener('abort', stop));
  const restored = await restoreBackup(stream, {
    // Open it only now: a wrong passphrase must not create a data directory.
    findDatabase: () => findLocalDatabase(settings, dataDir, undo),
    openDatabase: openQuietly,
    dataDir: () => openDataDir(dataDir),
    masterKey: { text: settings.masterKey, file: settings.masterKeyFile },
    auditHeadFile: settings.auditHeadFile,
    hubVersion: packageVersion(),
    passphrase: chosen,
  }).catch((error) => {
    // Commit only after the file was read to its end.
    throw interruption.signal.aborted && stream.errored ? interruption.error('Nothing was restored.') : error;
  });
  const { keyRingFile } = restored;
  return { ...factsOf(restored), ...(keyRingFile !== undefined && { keyRingFile }) };
}

/** @throws CliError (usage) if the file does not exist; Error that says what is wrong with it */
export async function runVerify(backup: ReadBackupOptions): Promise<BackupFacts> {
  await using undo = new AsyncDisposableStack();
  const { stream, passphrase } = await openBackup('Checking', backup, undo);
  return factsOf(await verifyBackup(stream, passphrase));
}

/** Asks for the passphrase, and shows the progress of reading the file. */
async function openBackup(
  doing: string,
  { file, passphrase, progress, interruption }: ReadBackupOptions,
  undo: AsyncDisposableStack,
): Promise<{ stream: ReadStream; passphrase: string }> {
  const handle = await open(file).catch((error) => {
    throw usageError(`${file} cannot be read (${error.code}).`);
  });
  undo.defer(() => handle.close());
  const about = await handle.stat();
  if (about.isDirectory()) throw usageError(`${file} is a directory: give the file of the backup.`);
  const chosen = await interruption.race(passphrase(), () => 'Nothing was restored.');
  const stream = createReadStream(file, { fd: handle, autoClose: false });
  const line = progress.show(
    () => `${doing}: ${megabytes(stream.bytesRead)} of ${megabytes(about.size)} read`,
  );
  undo.defer(() => line.end());
  return { stream, passphrase: chosen };
}

function factsOf({ manifest, tables, rows }: Loaded & { manifest: Manifest }): BackupFacts {
  const { createdAt, hubVersion, postgresVersion, masterKeyIds } = manifest;
  return { createdAt, hubVersion, postgresVersion, masterKeyIds, tables, rows };
}
