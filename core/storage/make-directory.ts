// Makes a directory with those above it. The recursive mkdir of Node.js never ends where the file system says that a
// parent is missing which is there, as Linux does under /proc.
import { existsSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Leaves what is there as it is.
 *
 * @param mode Of the directories it makes.
 * @throws the error of the system: EACCES, ENOTDIR, EROFS, ENOENT where nothing can be made
 */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const directory of missing) {
    await mkdir(directory, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // another process made it meanwhile
    });
  }
  await stat(`${path}/.`); // ENOTDIR for anything but a directory
}
