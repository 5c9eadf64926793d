// Creates a directory and its parents. Node's recursive mkdir loops forever where the system reports an
// existing parent as missing, as Linux does under /proc.
import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Does not change existing directories.
 * @param mode mode of the directories it creates
 * @throws the system's error: EACCES, ENOTDIR, EROFS or ENOENT
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const directory of missing) {
    await mkdir(directory, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // another process created it
    });
  }
  await stat(`${path}/.`); // ENOTDIR for anything but a directory
}
