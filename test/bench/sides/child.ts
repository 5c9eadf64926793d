// Runs a server of the benchmark in its own process.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type Child = {
  readonly pid: number;
  /** Opens the Node.js inspector of the process and resolves with its address. */
  inspect(): Promise<string>;
  /** The line of output that reported that the server is ready. */
  readonly ready: string;
  stop(): Promise<void>;
};

export type Command = {
  readonly name: string;
  /** Arguments of node: the program and its own arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The file for standard output, so that no process has to read a pipe during a measurement. */
  readonly logFile: string;
  /** Part of the line that reports that the server is ready. */
  readonly readyText: string;
};

const READY_TIMEOUT_MS = 60_000;
const STOPS_WITHIN_MS = 15_000;
/** The line that Node.js writes to standard error when it opens its inspector. */
const INSPECTOR = 'Debugger listening on ';

/** @throws Error with the last lines of its output if it does not become ready */
export async function startChild({ name, args, env, logFile, readyText }: Command): Promise<Child> {
  const errorFile = `${logFile}.err`;
  const [log, errors] = [openSync(logFile, 'w'), openSync(errorFile, 'w')];
  // The inspector stays closed until `inspect` opens it, on a free port.
  const child = spawn(process.execPath, ['--inspect-port=0', ...args], {
    env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, errors],
  });
  closeSync(log);
  closeSync(errors);
  const lineOf = async (file: string, text: string): Promise<string> => {
    const line = await untilLine(child, file, text);
    if (line !== undefined) return line;
    child.kill('SIGKILL');
    const said = [logFile, errorFile].map((each) => readFileSync(each, 'utf8').slice(-2_000)).join('');
    throw new Error(`${name} did not start:\n${said}`);
  };
  const ready = await lineOf(logFile, readyText);
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
      // A process that is being profiled may hang when it exits.
      const timer = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/**
 * Starts a program of the benchmark. `file` is relative to this directory, and the program prints its port.
 */
export async function startProgram(
  directory: string,
  { name, file, env }: Pick<Command, 'name' | 'env'> & { readonly file: string },
): Promise<Child & { readonly port: number }> {
  const child = await startChild({
    name,
    args: [join(import.meta.dirname, file)],
    env,
    logFile: join(directory, `${name}.log`),
    readyText: '"ready"',
  });
  return { ...child, port: JSON.parse(child.ready).port };
}

/** The first line that contains the text. Undefined if the process exits or the time limit passes first. */
async function untilLine(child: ChildProcess, file: string, text: string): Promise<string | undefined> {
  const giveUpAt = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < giveUpAt && child.exitCode === null) {
    const lines = readFileSync(file, 'utf8').split('\n');
    const line = lines.find((candidate) => candidate.includes(text));
    if (line !== undefined) return line;
    await sleep(50);
  }
  return undefined;
}
