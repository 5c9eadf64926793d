// Runs a command of the operating system, optionally as another user.
import { execFile } from 'node:child_process';

/** A user and group of the operating system, by number. */
export type Account = { readonly uid: number; readonly gid: number };

/** Whether a command ended with status 0, and its output. */
export type CommandResult = { readonly ok: boolean; readonly output: string };

/**
 * Runs a command in `cwd` with `input` on its standard input. Never rejects: a command that cannot be started
 * has failed. Of the hub's environment the command gets only PATH; its messages are in English.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  { account, cwd = '/', input = '' }: { account?: Account | undefined; cwd?: string; input?: string } = {},
): Promise<CommandResult> {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
  return new Promise((resolve) => {
    const child = execFile(file, args, { ...account, cwd, env }, (error, stdout, stderr) => {
      const printed = `${stdout}${stderr}`.trim();
      resolve({ ok: error === null, output: printed || (error?.message ?? '') });
    });
    // The status decides, even if a command does not read its input.
    child.stdin?.on('error', () => {}).end(input);
  });
}
