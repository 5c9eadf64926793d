// What a server has used so far, as Linux counts it; elsewhere nothing is known.
import { readFileSync, writeFileSync } from 'node:fs';

export type Usage = {
  /** Seconds of CPU, user and system. */
  readonly cpuSeconds: number;
  /** Most memory it had resident since the last `forgetPeak`, in MiB. */
  readonly peakMiB: number;
};

/** The unit of /proc/PID/stat on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;

export function usageOf(pid: number): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; fields 14 and 15 are counted from behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const peakKiB = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
      peakMiB: Number(peakKiB) / 1024,
    };
  } catch {
    return undefined;
  }
}

/** Counts the peak from now on. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // not allowed, or not Linux: the peak is then that of the whole run
  }
}
