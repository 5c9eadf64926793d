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

/** A sandbox can hide the id of the boot, and show the processes: ProcSubset=pid of systemd. */
const UNKNOWN_BOOT = '-';

/**
 * When a process of this place started, as text for `stillRuns`: the boot and the ticks after it. Undefined if the
 * process does not run or cannot be seen, or if the system is not Linux.
 */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program is in parentheses and may contain spaces. The state, field 3, follows it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `${bootId()} ${fields[22 - 3]}`;
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return UNKNOWN_BOOT;
  }
}

/**
 * Whether the process of this place that started at `started` still runs. A process id means the same process
 * only with the same start: ids are reused, for example after a reboot. If one of both starts is unknown, any
 * process with this id counts. If only a boot is unknown, the ticks must be equal.
 */
export function stillRuns(pid: number, started: string | undefined): boolean {
  const found = processStart(pid);
  if (started === undefined || found === undefined) return isRunning(pid);
  const [[boot, ticks], [foundBoot, foundTicks]] = [started.split(' '), found.split(' ')];
  const isSameBoot = boot === foundBoot || boot === UNKNOWN_BOOT || foundBoot === UNKNOWN_BOOT;
  return isSameBoot && ticks === foundTicks;
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
