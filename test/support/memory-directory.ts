// Temporary files in memory: a test run creates thousands of small databases and data directories.
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Linux's file system in memory. Containers often have a small one, or one from which nothing can be executed. */
const PLACE = '/dev/shm';
/** Followed by the process of the run. Temporary files of the hub have `-PROCESS-` in their names. */
const PREFIX = 'hub-tests.';
/** A run uses a fraction of this. The rest of the memory stays free for the programs. */
const NEEDED_BYTES = 6 * 1024 ** 3;

/**
 * Sets TMPDIR to a new directory in memory, for this process and its children, unless it is set or the machine has too
 * little memory. Returns a function that removes the directory.
 */
export async function keepFilesInMemory(): Promise<() => Promise<void>> {
  if (process.env['TMPDIR'] !== undefined || !(await hasRoom())) return async () => {};
  await removeLeftovers();
  const directory = await mkdtemp(join(PLACE, `${PREFIX}${process.pid}.`));
  await chmod(directory, 0o711); // under root, PostgreSQL runs as another user
  process.env['TMPDIR'] = directory;
  return async () => {
    delete process.env['TMPDIR'];
    await rm(directory, { recursive: true, force: true });
  };
}

/** Whether the files of this run are in memory. */
export function filesAreInMemory(): boolean {
  return process.env['TMPDIR']?.startsWith(PLACE) === true;
}

async function hasRoom(): Promise<boolean> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const [, options] = new RegExp(`^\\S+ ${PLACE} tmpfs (\\S+)`, 'm').exec(mounts) ?? [];
  if (options === undefined || /\b(ro|noexec)\b/.test(options)) return false;
  const { bavail, bsize } = await statfs(PLACE);
  return Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES;
}

/** Removes the directories of runs that were killed. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(PLACE)) {
    const [, pid] = new RegExp(`^${PREFIX}(\\d+)\\.`).exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await rm(join(PLACE, name), { recursive: true, force: true }).catch(() => {}); // another user's
  }
}
