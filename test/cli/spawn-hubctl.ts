// Runs the hubctl executable as a shell would.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { HUBCTL } from '../support/hub/hub-process.ts';

/** The search path without the folders that npm puts in front; ends with the Node.js of the tests if there is no other. */
export const MACHINE_PATH = [
  ...(process.env['PATH'] ?? '').split(delimiter).filter((dir) => !dir.includes('node_modules')),
  dirname(process.execPath),
].join(delimiter);

/** Starts hubctl with the Node.js of the tests at once: with another it would start that one first. */
const PATH = [dirname(process.execPath), MACHINE_PATH].join(delimiter);

/** The `node` that MACHINE_PATH leads to. */
export const MACHINE_NODE =
  MACHINE_PATH.split(delimiter)
    .map((dir) => join(dir, 'node'))
    .find((file) => existsSync(file)) ?? process.execPath;

export type Result = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

/** Starts hubctl independently of any hub of this machine: without environment variables that name one. */
export function start(
  args: readonly string[],
  env: Record<string, string> = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
  stdout: 'pipe' | number = 'pipe',
): ChildProcess {
  return spawn(HUBCTL, args, { stdio: [stdin, stdout, 'pipe'], env: environmentOf(env) });
}

/** The environment of the tests without variables that name a hub of this machine, and with these. */
export function environmentOf(env: Record<string, string>): Record<string, string | undefined> {
  const rest = Object.entries(process.env).filter(([name]) => !/^(PATH|HUBCTL_.*|HUB_DATA_DIR)$/.test(name));
  return {
    ...Object.fromEntries(rest),
    PATH,
    HUB_DATA_DIR: '/nonexistent/hub',
    HUB_DRAIN_SECONDS: '0',
    ...env,
  };
}

export type Printing = {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly printed: { readonly stdout: string; readonly stderr: string };
  readonly end: Promise<Result>;
};

/** Starts hubctl, and collects what it prints while it runs. */
export function startPrinting(args: readonly string[], env: Record<string, string> = {}): Printing {
  const child = start(args, env);
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk: Buffer) => {
      printed[name] += chunk;
    });
  }
  return { child, printed, end: ended(child) };
}

/** Runs hubctl to its end. */
export async function hubctl(args: readonly string[], env: Record<string, string> = {}): Promise<Result> {
  return ended(start(args, env));
}

/** Waits for the end of a process and collects what it printed. */
export async function ended(child: ChildProcess): Promise<Result> {
  const exit = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>; // documented arguments of the event
  const [[code, signal], stdout, stderr] = await Promise.all([exit, read(child.stdout), read(child.stderr)]);
  return { code, signal, stdout, stderr };
}

async function read(stream: ChildProcess['stdout']): Promise<string> {
  return stream === null ? '' : text(stream);
}
