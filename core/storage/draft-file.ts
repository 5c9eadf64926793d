// Names for files that are written beside their final place, and the removal of those that a killed process left.
import { createHash, randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** Those that this process writes now. */
const live = new Set<string>();

/**
 * Gives `write` a name for a draft of `path`, in the same directory. Afterwards the draft is removed if it still has this
 * name. Before, leftovers in the directory are removed, also those of other names: see `sweepDrafts`.
 */
export async function withDraft<T>(path: string, write: (draft: string) => Promise<T>): Promise<T> {
  await sweepDrafts(dirname(path));
  const name = `${basename(path)}.${place()}-${process.pid}-${randomUUID().slice(0, 8)}.part`;
  const draft = join(dirname(path), name);
  live.add(name);
  try {
    return await write(draft);
  } finally {
    await rm(draft, { force: true });
    live.delete(name);
  }
}

const DRAFT = /\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.part$/;

/**
 * Removes the drafts in a directory whose process no longer runs. A draft names its process and the place where that
 * process id means something, so that nothing is removed which a live process may be writing: neither on another machine
 * that shares the directory nor in another container. Leftovers of those stay.
 */
export async function sweepDrafts(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []); // the caller finds out what is wrong with it
  for (const name of names) {
    const [, where, pid] = DRAFT.exec(name) ?? [];
    if (where !== place() || live.has(name)) continue;
    if (Number(pid) !== process.pid && isRunning(Number(pid))) continue;
    await rm(join(directory, name), { force: true }).catch(() => {}); // another user's: that user removes it
  }
}

/** The machine and, on Linux, the process namespace. */
function place(): string {
  let namespace = '';
  try {
    namespace = readlinkSync('/proc/self/ns/pid');
  } catch {
    // not on Linux
  }
  return createHash('sha256').update(`${hostname()} ${namespace}`).digest('hex').slice(0, 8);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
