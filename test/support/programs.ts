// System programs that some suites use: proxies and poolers.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Context } from 'mocha';
import type { Account } from '../../core/storage/embedded-postgres/run-command.ts';

/** Includes Debian's directories for daemons, which a user's PATH often lacks. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;

/** Makes the suite pending without the program. `flag` makes the program print its version. */
export function requireProgram(test: Context, program: string, flag: string): void {
  if (hasProgram(program, flag)) return;
  process.stderr.write(`      pending: no ${program}: install the package of this name\n`);
  test.skip();
}

/** Whether the machine has the program. `flag` makes it print its version. */
export function hasProgram(program: string, flag: string): boolean {
  return spawnSync(program, [flag], { env: { PATH }, stdio: 'ignore' }).error === undefined;
}

export type Program = { readonly output: () => string; stop(): Promise<void> };

export type ProgramOptions = {
  /** The user that runs the program. The default is the user of the tests. */
  readonly account?: Account | undefined;
  /** The working directory. The default is that of the tests. */
  readonly cwd?: string;
};

/** Runs a program in the foreground until it is stopped. */
export function startProgram(
  program: string,
  args: readonly string[],
  { account, cwd }: ProgramOptions = {},
): Program {
  const child: ChildProcess = spawn(program, args, {
    env: { PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
    ...account,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = once(child, 'exit');
  return {
    output: () => output,
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
