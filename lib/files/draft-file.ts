// Names temporary files and directories beside their final path, and removes those that a killed process left.
import { randomUUID } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { undefinedIfMissing } from '../caught-error.ts';
import { isRunning, processPlace } from '../process-place.ts';

/** Drafts that this process is writing. */
const live = new Set<string>();

/**
 * Calls `write` with a temporary path in the directory of `path`, and removes the draft afterwards unless it
 * was renamed. First removes drafts of dead processes from the directory (see `sweepDrafts`). A draft that is
 * not a file needs a `remove` of its own, which may find nothing at the path.
 */
export async function withDraft<T>(
  path: string,
  write: (draft: string) => Promise<T>,
  remove = removeFile,
): Promise<T> {
  await sweepDrafts(dirname(path), remove);
  const name = `${basename(path)}.${processPlace()}-${process.pid}-${randomUUID().slice(0, 8)}.part`;
  const draft = join(dirname(path), name);
  live.add(name);
  try {
    return await write(draft);
  } finally {
    await remove(draft);
    live.delete(name);
  }
}

const DRAFT = /\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.part$/;

/**
 * Removes the drafts in a directory whose process no longer runs. A draft's name contains its process id and
 * a hash of the machine and process namespace, so that a draft of another machine or container is kept.
 */
export async function sweepDrafts(directory: string, remove = removeFile): Promise<void> {
  const names = await readdir(directory).catch(() => []); // the caller's own write reports the error
  for (const name of names) {
    const [, where, pid] = DRAFT.exec(name) ?? [];
    if (where !== processPlace() || live.has(name)) continue;
    if (Number(pid) !== process.pid && isRunning(Number(pid))) continue;
    await remove(join(directory, name)).catch(() => {}); // belongs to another user, who removes it
  }
}

async function removeFile(path: string): Promise<void> {
  const found = await lstat(path).catch(undefinedIfMissing);
  if (found?.isFile()) await rm(path, { force: true });
}
