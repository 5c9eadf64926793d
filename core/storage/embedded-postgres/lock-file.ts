// Reads the server's lock file, postmaster.pid, to find the server of a cluster and its port.
import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../../../lib/caught-error.ts';

/** A server that runs on a cluster. `ready` is false while it starts or stops. */
export type RunningServer = { readonly pid: number; readonly port: number; readonly ready: boolean };

export function lockFileOf(data: string): string {
  return join(data, 'postmaster.pid');
}

/** The server that runs on the cluster in `data`, if any. */
export async function runningServer(data: string): Promise<RunningServer | undefined> {
  const server = await readLock(data);
  return server !== undefined && (await isServer(server)) ? server : undefined;
}

/**
 * Removes a lock file whose process id now belongs to another program, as after a reboot or in a new
 * container: PostgreSQL would take that program for a server. Servers of one cluster still exclude each other
 * by its shared memory. PostgreSQL itself detects the lock of a process that is gone. A file without a process
 * id stays: a server that starts is writing it.
 */
export async function removeForeignLock(data: string): Promise<void> {
  const server = await readLock(data);
  if (server !== undefined && !(await isServer(server))) await rm(lockFileOf(data), { force: true });
}

/** What the lock file says; undefined if there is none, or if it has no process id. */
async function readLock(data: string): Promise<RunningServer | undefined> {
  const lines = (await readIfPresent(lockFileOf(data)))?.split('\n') ?? [];
  const server = { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
  return server.pid > 0 ? server : undefined;
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
