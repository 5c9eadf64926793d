// The memory of a process, on Linux.
import { readFile } from 'node:fs/promises';

/** 0 if the process has ended. */
export async function residentKb(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
}
