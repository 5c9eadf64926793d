// Running a command of the operating system to its end, if need be as another user.
import { execFile } from 'node:child_process';

/** A user and group of the operating system, by number. */
export type Account = { readonly uid: number; readonly gid: number };

/** How a command ended: whether with status 0, and all that it printed. */
export type Outcome = { readonly ok: boolean; readonly output: string };

/**
 * Runs a command in `cwd` with `input` on its standard input. It never rejects: a command that cannot be started is
 * one that failed. Nothing of the hub's own environment is passed on but PATH; messages are in English.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  { account, cwd = '/', input = '' }: { account?: Account | undefined; cwd?: string; input?: string } = {},
): Promise<Outcome> {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
  return new Promise((resolve) => {
    const child = execFile(file, args, { ...account, cwd, env }, (error, stdout, stderr) => {
      const printed = `${stdout}${stderr}`.trim();
      resolve({ ok: error === null, output: printed || (error?.message ?? '') });
    });
    // A command that ends without reading its input is judged by its status.
    child.stdin?.on('error', () => {}).end(input);
  });
}
