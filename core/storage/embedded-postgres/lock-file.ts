// Reads the server's lock file, postmaster.pid, to find the server of a cluster and its port.
import { readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, undefinedIfMissing } from '../../../lib/caught-error.ts';

/** A server that runs on a cluster. `ready` is false while it starts or stops. */
export type RunningServer = { readonly pid: number; readonly port: number; readonly ready: boolean };

export function lockFileOf(data: string): string {
  return join(data, 'postmaster.pid');
}

/** The server that runs on the cluster in `data`, if any. */
export async function runningServer(data: string): Promise<RunningServer | undefined> {
  const server = await readLock(data);
  return server && server.pid > 0 && (await isServer(server)) ? server : undefined;
}

/**
 * Removes a lock file whose process id now belongs to another program, as after a reboot or in a new
 * container: PostgreSQL would take that program for a server. Servers of one cluster still exclude each other
 * by its shared memory. PostgreSQL itself detects the lock of a process that is gone, and that of a server in
 * single-user mode, whose id is negative. A new file without a process id stays: a server that starts is
 * writing it. A power loss can leave an old one.
 */
export async function removeForeignLock(data: string): Promise<void> {
  const file = lockFileOf(data);
  const lock = await readLock(data);
  if (lock === undefined || lock.pid < 0) return;
  const isForeign = lock.pid > 0 ? !(await isServer(lock)) : (await ageOf(file)) > WRITTEN_AFTER_MS;
  if (isForeign) await rm(file, { force: true });
}

/** A server that starts writes its process id within milliseconds. */
const WRITTEN_AFTER_MS = 10_000;

/** The milliseconds since a file was changed; 0 if it does not exist. */
async function ageOf(file: string): Promise<number> {
  const now = Date.now();
  return now - ((await stat(file).catch(undefinedIfMissing))?.mtimeMs ?? now);
}

/** What the lock file says; undefined if there is none. Its process id is 0 or NaN if it has none. */
async function readLock(data: string): Promise<RunningServer | undefined> {
  const lines = (await readIfPresent(lockFileOf(data)))?.split('\n');
  return lines && { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/**
 * Whether the process is the server of that lock file: its command line has postgres and the port. Without
 * /proc, every live process counts.
 */
async function isServer({ pid, port }: RunningServer): Promise<boolean> {
  if (process.platform !== 'linux') return isAlive(pid);
  const [program = '', ...args] = (await readIfPresent(`/proc/${pid}/cmdline`))?.split('\0') ?? [];
  return basename(program) === 'postgres' && args.includes(`--port=${port}`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    // ESRCH: a process that ended between opening its file and reading it.
    if (['ENOENT', 'ESRCH'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}
