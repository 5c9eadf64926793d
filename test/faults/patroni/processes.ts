// Finds all processes that work in a directory: a server, its children and any processes that outlive it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readlink } from 'node:fs/promises';
import { until } from '../../support/until.ts';

/** The processes whose working directory is this directory or inside it. */
export async function processesIn(directory: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => `${places[index]}/`.startsWith(`${directory}/`));
}

/** Sends SIGKILL to all of them, and resolves when they have ended. */
export async function killIn(directory: string): Promise<void> {
  const allGone = async (): Promise<boolean> => {
    const pids = await processesIn(directory);
    for (const pid of pids) signal(pid, 'SIGKILL');
    return pids.length === 0;
  };
  await until(allGone, `the processes in ${directory} are gone`);
}

/** Sends SIGSTOP to all of them, including those they start meanwhile. */
export async function freezeIn(directory: string): Promise<void> {
  const frozen = new Set<number>();
  for (;;) {
    const pids = (await processesIn(directory)).filter((pid) => !frozen.has(pid));
    if (pids.length === 0) return;
    for (const pid of pids) {
      signal(pid, 'SIGSTOP');
      frozen.add(pid);
    }
  }
}

export async function thawIn(directory: string): Promise<void> {
  for (const pid of await processesIn(directory)) signal(pid, 'SIGCONT');
}

/**
 * Waits for the end of its input, then ends all processes in a directory and removes it. SIGQUIT lets
 * PostgreSQL release its shared memory. SIGKILL ends the remaining processes after a second.
 */
const GUARD = `
cat >/dev/null
signal=QUIT passes=0
while :; do
  places=$(find /proc/[0-9]* -maxdepth 1 -name cwd '(' -lname "$1" -o -lname "$1/*" ')' 2>/dev/null)
  [ -n "$places" ] || break
  for place in $places; do
    pid=\${place#/proc/} pid=\${pid%/cwd}
    kill -$signal "$pid"
    kill -CONT "$pid"
  done 2>/dev/null
  passes=$((passes + 1))
  [ "$passes" -lt 10 ] || signal=KILL
  sleep 0.1
done
rm -rf -- "$1"
`;

/**
 * Clears a directory when the returned function is called, or when this process ends for any reason.
 * @param directory a path without symbolic links
 */
export function guardDirectory(directory: string): () => Promise<void> {
  const guard: ChildProcess = spawn('/bin/sh', ['-c', GUARD, 'guard', directory], {
    cwd: '/',
    detached: true, // an interrupt at the terminal does not end it
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(guard, 'exit');
  return async () => {
    guard.stdin?.end();
    await ended;
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it is gone
  }
}
