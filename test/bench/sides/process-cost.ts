// Reads the CPU time and memory of a server from /proc. It needs Linux: elsewhere the result is undefined.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export type Usage = {
  /** CPU seconds, user and system. */
  readonly cpuSeconds: number;
  /** Peak resident memory since the last `resetPeakMemory`, in MiB. */
  readonly peakMiB: number;
};

/** The unit of /proc/PID/stat on every Linux that Node.js supports. */
const TICKS_PER_SECOND = 100;

export function usageOf(pid: number): Usage | undefined {
  try {
    const peakKiB = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return { cpuSeconds: statOf(pid).own, peakMiB: Number(peakKiB) / 1024 };
  } catch {
    return undefined;
  }
}

/**
 * CPU seconds of this program's PostgreSQL. They include the running processes, and the ended ones that their
 * parent has reaped.
 */
export function postgresCpuSeconds(): number | undefined {
  try {
    const postmaster = postmasterPid();
    const { own, ended } = statOf(postmaster);
    return childrenOf(postmaster).reduce((sum, pid) => sum + (usageOf(pid)?.cpuSeconds ?? 0), own + ended);
  } catch {
    return undefined;
  }
}

/**
 * Bytes that the running processes of this program's PostgreSQL have read from the disk: those that were in no cache.
 * It needs permission to read /proc/PID/io.
 */
export function postgresDiskBytes(): number | undefined {
  try {
    return childrenOf(postmasterPid()).reduce((sum, pid) => {
      const [, bytes] = /^read_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8')) ?? [];
      return sum + Number(bytes);
    }, 0);
  } catch {
    return undefined;
  }
}

function postmasterPid(): number {
  const data = dirname(process.env['HUB_TEST_POSTGRES_LOG'] ?? '');
  return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** The process ids of the children of a process. */
export function childrenOf(parent: number): number[] {
  return processIds().filter((pid) => {
    try {
      return statOf(pid).parent === parent;
    } catch {
      return false; // it has just ended
    }
  });
}

export function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** CPU seconds of a process and of its ended children. @throws Error if there is no such process */
function statOf(pid: number): { readonly parent: number; readonly own: number; readonly ended: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may contain any character. Fields 4 and 14 to 17 come after the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (at: number): number => (Number(fields[at]) + Number(fields[at + 1])) / TICKS_PER_SECOND;
  return { parent: Number(fields[1]), own: seconds(11), ended: seconds(13) };
}

export type ThreadTime = {
  /** Time on a processor, in microseconds. */
  readonly runningMicros: number;
  /** Time ready to run while waiting for a processor, in microseconds. */
  readonly queuedMicros: number;
};

/**
 * The time of the main thread of a process since it started. Undefined if the process has ended, or if the system
 * does not record it.
 */
export function mainThreadTimeOf(pid: number): ThreadTime | undefined {
  try {
    const [running, queued] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ');
    return { runningMicros: Number(running) / 1_000, queuedMicros: Number(queued) / 1_000 };
  } catch {
    return undefined;
  }
}

/** Resets the peak, so that it counts from now on. */
export function resetPeakMemory(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // not permitted, or not Linux: the peak then covers the whole run
  }
}
