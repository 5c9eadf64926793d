// Runs a backup on the hub's own machine: finds the database and the keys, and gives the file its name when it is whole.
import { once } from 'node:events';
import { constants, createWriteStream } from 'node:fs';
import { access, rename, rm, stat } from 'node:fs/promises';
import { takeBackup } from '../core/backup/take-backup.ts';
import { systemClock } from '../core/clock.ts';
import { openDataDir } from '../core/storage/data-dir.ts';
import { existingKeys } from '../core/storage/key-ring.ts';
import { usageError } from './failure.ts';
import { findLocalDatabase } from './local-database.ts';
import { megabytes, type Progress } from './progress.ts';
import type { Settings } from './settings.ts';
import { packageVersion } from './version.ts';
import type { BackupReport } from './views/backup.ts';

export type RunBackupOptions = {
  readonly dataDir: string;
  /** Where the backup goes. */
  readonly out: string;
  /** Whether a file that exists is overwritten. */
  readonly force: boolean;
  readonly passphrase: () => Promise<string>;
  readonly progress: Progress;
};

/** @throws CliError (usage) if the file exists or cannot be written; Error that says what else is wrong. */
export async function runBackup(
  settings: Settings,
  { dataDir, out, force, passphrase, progress }: RunBackupOptions,
): Promise<BackupReport> {
  await access(dataDir, constants.R_OK).catch(() => {
    throw usageError(`There is no hub in ${dataDir}: name its data directory with --data-dir.`);
  });
  if (!force && (await exists(out))) {
    throw usageError(`${out} exists. Name another file with --out, or overwrite it with --force.`);
  }
  const draft = `${out}.${process.pid}.part`;
  const file = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true });
  await once(file, 'open').catch((error) => {
    throw usageError(`${out} cannot be written (${error.code}). Name another file with --out.`);
  });
  try {
    const chosen = await passphrase();
    await using undo = new AsyncDisposableStack();
    const line = progress.show(() => `Backing up ${megabytes(file.bytesWritten)}`);
    undo.defer(() => line.end());
    const source = { text: settings.masterKey, file: settings.masterKeyFile };
    const keys = existingKeys(source, await openDataDir(dataDir));
    const databaseUrl = await findLocalDatabase(settings, dataDir, undo);
    const options = {
      databaseUrl,
      keys,
      hubVersion: packageVersion(),
      lock: { passphrase: chosen },
      clock: systemClock,
    };
    const { createdAt } = await takeBackup(options, file);
    const { size } = await stat(draft);
    await rename(draft, out);
    return { file: out, bytes: size, createdAt };
  } finally {
    file.destroy();
    await rm(draft, { force: true });
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
