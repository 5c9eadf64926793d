// Where a process runs and whether it still does, for files that name a process.
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
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

/**
 * When a process of this place started, as text to compare. A process id means the same process only with the same
 * start: ids are reused, for example after a reboot. Undefined if the process does not run or the system is not Linux.
 */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program is in parentheses and may contain spaces. The state, field 3, follows it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticksAfterBoot = fields[22 - 3];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${ticksAfterBoot}`;
  } catch {
    return undefined;
  }
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
