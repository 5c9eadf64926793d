// Restores or checks a backup on the machine of the hub that is to have it.
import { createReadStream, type ReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Manifest } from '../core/backup/manifest.ts';
import type { Loaded } from '../core/backup/read-archive.ts';
import { restoreBackup, verifyBackup } from '../core/backup/restore-backup.ts';
import { openDataDir } from '../core/storage/data-dir.ts';
import { usageError } from './failure.ts';
import type { Interruption } from './interruption.ts';
import { findLocalDatabase, openQuietly } from './local-database.ts';
import { megabytes, type Progress } from './progress.ts';
import type { Settings } from './settings.ts';
import { packageVersion } from './version.ts';
import type { BackupFacts, RestoreReport } from './views/backup.ts';

export type ReadBackupOptions = {
  readonly file: string;
  readonly passphrase: () => Promise<string>;
  readonly progress: Progress;
  readonly interruption: Interruption;
};

/**
 * A signal ends it while it reads the file, not after: a restore that has come so far is finished.
 *
 * @throws CliError (usage) if there is no such file, (interrupted) at a signal; Error that says what else is wrong.
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
    // Only now: a wrong passphrase leaves no data directory behind.
    findDatabase: () => findLocalDatabase(settings, dataDir, undo),
    openDatabase: openQuietly,
    dataDir: () => openDataDir(dataDir),
    masterKey: { text: settings.masterKey, file: settings.masterKeyFile },
    auditHeadFile: settings.auditHeadFile,
    hubVersion: packageVersion(),
    passphrase: chosen,
  }).catch((error) => {
    // Only a file that was read to its end is committed.
    throw interruption.signal.aborted && stream.errored ? interruption.error('Nothing was restored.') : error;
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
  { file, passphrase, progress, interruption }: ReadBackupOptions,
  undo: AsyncDisposableStack,
): Promise<{ stream: ReadStream; passphrase: string }> {
  const handle = await open(file).catch((error) => {
    throw usageError(`${file} cannot be read (${error.code}).`);
  });
  undo.defer(() => handle.close());
  const about = await handle.stat();
  if (about.isDirectory()) throw usageError(`${file} is a directory: name the file of the backup.`);
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
