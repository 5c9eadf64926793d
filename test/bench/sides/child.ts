// A server of the benchmark in a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

export type Child = {
  readonly pid: number;
  /** Opens the inspector of its Node.js; the address of that. */
  inspect(): Promise<string>;
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

const SAYS_WITHIN_MS = 60_000;
/** What Node.js says on standard error when it is asked to open its inspector. */
const INSPECTOR = 'Debugger listening on ';

/** @throws Error with the end of what it said if it does not become ready */
export async function startChild({ name, args, env, logFile, readyMark }: Command): Promise<Child> {
  const errorFile = `${logFile}.err`;
  const [log, errors] = [openSync(logFile, 'w'), openSync(errorFile, 'w')];
  // The inspector is shut until somebody asks for it, and then on a port that is free.
  const child = spawn(process.execPath, ['--inspect-port=0', ...args], {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, errors],
  });
  closeSync(log);
  closeSync(errors);
  const lineOf = async (file: string, mark: string): Promise<string> => {
    const line = await untilSaid(child, file, mark);
    if (line !== undefined) return line;
    child.kill('SIGKILL');
    const said = [logFile, errorFile].map((each) => readFileSync(each, 'utf8').slice(-2_000)).join('');
    throw new Error(`${name} did not start:\n${said}`);
  };
  const ready = await lineOf(logFile, readyMark);
  return {
    pid: child.pid ?? 0,
    ready,
    async inspect() {
      child.kill('SIGUSR1');
      const line = await lineOf(errorFile, INSPECTOR);
      return line.slice(INSPECTOR.length).trim();
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** A program of the benchmark itself, in the file of that name from here, that says on which port it listens. */
export async function startProgram(
  directory: string,
  { name, file, env }: Pick<Command, 'name' | 'env'> & { readonly file: string },
): Promise<Child & { readonly port: number }> {
  const child = await startChild({
    name,
    args: [join(import.meta.dirname, file)],
    env,
    logFile: join(directory, `${name}.log`),
    readyMark: '"ready"',
  });
  return { ...child, port: JSON.parse(child.ready).port };
}

/** The first line with this in it; undefined if it ends before, or takes too long. */
async function untilSaid(child: ChildProcess, file: string, mark: string): Promise<string | undefined> {
  const giveUpAt = performance.now() + SAYS_WITHIN_MS;
  while (performance.now() < giveUpAt && child.exitCode === null) {
    const lines = readFileSync(file, 'utf8').split('\n');
    const line = lines.find((candidate) => candidate.includes(mark));
    if (line !== undefined) return line;
    await setTimeout(50);
  }
  return undefined;
}
