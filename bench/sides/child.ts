// A server of the benchmark in a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

export type Child = {
  readonly pid: number;
  /** The line by which it said that it is ready. */
  readonly ready: string;
  stop(): Promise<void>;
};

export type Command = {
  readonly name: string;
  /** What node is given: the program, then its arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where its standard output goes: nobody has to read along while it is measured. */
  readonly logFile: string;
  /** Part of the line that says that it is ready. */
  readonly readyMark: string;
};

const READY_WITHIN_MS = 60_000;

/** @throws Error with the end of what it said if it does not become ready */
export async function startChild({ name, args, env, logFile, readyMark }: Command): Promise<Child> {
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ready = await untilReady(child, logFile, readyMark, name);
  return {
    pid: child.pid ?? 0,
    ready,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function untilReady(child: ChildProcess, logFile: string, mark: string, name: string): Promise<string> {
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  while (performance.now() < giveUpAt && child.exitCode === null) {
    const lines = readFileSync(logFile, 'utf8').split('\n');
    const line = lines.find((candidate) => candidate.includes(mark));
    if (line !== undefined) return line;
    await setTimeout(50);
  }
  child.kill('SIGKILL');
  throw new Error(`${name} did not start:\n${readFileSync(logFile, 'utf8').slice(-2_000)}`);
}
