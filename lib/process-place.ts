// Where a process runs and whether it still does, for files that name a process.
import { createHash } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { codeOf } from './caught-error.ts';

/**
 * A hash of the host name and, on Linux, the process namespace. A process id means the same process only in the same
 * place: containers can share a directory.
 */
export function processPlace(): string {
  let namespace = '';
  try {
    namespace = readlinkSync('/proc/self/ns/pid');
  } catch {
    // not on Linux
  }
  return createHash('sha256').update(`${hostname()} ${namespace}`).digest('hex').slice(0, 8);
}

/** Whether a process of this place runs, also one of another user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
