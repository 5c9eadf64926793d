// Opens a file to write results to, so that a wrong path is found before there are any.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { usageError } from './failure.ts';

/**
 * The file, readable by its owner only where it is `created`. One that was there keeps its content for now.
 *
 * @param force Whether a file that exists may be overwritten.
 * @throws CliError (usage) if the file exists and may not be overwritten, or cannot be opened.
 */
export async function openForResults(
  path: string,
  force: boolean,
): Promise<{ file: FileHandle; created: boolean }> {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  try {
    return { file: await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600), created: true };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EEXIST')
      throw usageError(`${path} cannot be written (${code}). Name another file with --out.`);
    if (!force)
      throw usageError(`${path} exists. Name another file with --out, or overwrite it with --force.`);
    return { file: await open(path, O_WRONLY), created: false };
  }
}
