// Creates a backup on the hub's own machine. The file gets its name once it is complete.
import { once } from 'node:events';
import { constants, createWriteStream, existsSync } from 'node:fs';
import { access, open, realpath, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { takeBackup } from '../../core/backup/take-backup.ts';
import { systemClock } from '../../core/clock.ts';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { existingKeys } from '../../core/storage/secrets/load-key-ring.ts';
import { isDatabaseUnavailable } from '../../core/storage/sql/transient-errors.ts';
import { messageOf } from '../../lib/caught-error.ts';
import { withDraft } from '../../lib/files/draft-file.ts';
import { CliError, EXIT, usageError } from '../errors/failure.ts';
import type { Interruption } from '../interrupt/interruption.ts';
import { fileExists } from '../output/new-file.ts';
import { megabytes, type Progress } from '../output/progress.ts';
import type { Settings } from '../serve/setting-table.ts';
import { packageVersion } from '../version.ts';
import type { BackupReport } from '../views/operations/backup.ts';
import { findLocalDatabase } from './local-database.ts';

export type RunBackupOptions = {
  readonly dataDir: string;
  readonly out: string;
  readonly force: boolean;
  readonly passphrase: () => Promise<string>;
  readonly progress: Progress;
  readonly interruption: Interruption;
};

/**
 * @throws CliError (usage) if the file exists or cannot be written, (interrupted) at a signal, (database_lost)
 * if the database is unavailable; Error for any other failure
 */
export async function runBackup(
  settings: Settings,
  { dataDir, out: path, force, passphrase, progress, interruption }: RunBackupOptions,
): Promise<BackupReport> {
  await access(dataDir, constants.R_OK).catch(() => {
    throw usageError(`There is no hub in ${dataDir}: give its data directory with --data-dir.`);
  });
  const out = await realpath(path).catch(() => path); // keep a link and replace its target
  const found = await stat(out).catch(() => undefined);
  // The backup replaces the path as a whole, so it must be a regular file.
  if (found !== undefined && !found.isFile())
    throw usageError(`${out} is not a file. Give another with --out.`);
  if (found !== undefined && !force) throw fileExists(out);
  const unfinished = (): string => `Nothing was written to ${out}.`;
  interruption.hold(unfinished);
  return withDraft(out, async (draft) => {
    const file = createWriteStream(draft, { flags: 'wx', mode: 0o600, flush: true });
    await once(file, 'open').catch((error) => {
      throw usageError(`${out} cannot be written (${error.code}). Give another file with --out.`);
    });
    file.on('error', () => {}); // the writer gets the error
    const stop = (): void => void file.destroy(interruption.error(unfinished()));
    try {
      const chosen = await interruption.race(passphrase(), unfinished);
      interruption.signal.addEventListener('abort', stop);
      await using undo = new AsyncDisposableStack();
      const line = progress.show(() => `Backing up ${megabytes(file.bytesWritten)}`);
      undo.defer(() => line.end());
      const source = { text: settings.masterKey, file: settings.masterKeyFile };
      const keys = existingKeys(source, await openDataDir(dataDir));
      const address = await findLocalDatabase(settings, dataDir, undo);
      const options = {
        address,
        keys,
        hubVersion: packageVersion(),
        encryption: { passphrase: chosen },
        clock: systemClock,
        signal: interruption.signal,
      };
      const { createdAt } = await takeBackup(options, file).catch((error) => {
        if (interruption.signal.aborted) throw interruption.error(unfinished());
        throw isDatabaseUnavailable(error) ? databaseLost(error, unfinished()) : error;
      });
      const { size } = await stat(draft);
      if (!force && existsSync(out)) throw fileExists(out); // another program created it meanwhile
      await rename(draft, out);
      await using directory = await open(dirname(out), 'r');
      await directory.sync(); // sync the directory, so that the name survives a crash
      return { file: path, bytes: size, createdAt };
    } finally {
      interruption.signal.removeEventListener('abort', stop);
      file.destroy();
    }
  });
}

/** The error for a database that became unavailable during the backup, for example because its hub stopped. */
function databaseLost(error: unknown, unfinished: string): CliError {
  const failed = `The backup failed because of the database (${messageOf(error)}).`;
  return new CliError('database_lost', EXIT.failed, `${failed} ${unfinished} Run the command again.`, {
    cause: error,
  });
}
