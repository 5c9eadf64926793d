// Runs a command of the operating system, optionally as another user.
import { spawn } from 'node:child_process';

/** A user and group of the operating system, by number. */
export type Account = { readonly uid: number; readonly gid: number };

/** Whether a command ended with status 0, and its output. */
export type CommandResult = { readonly ok: boolean; readonly output: string };

/**
 * Runs a command in `cwd` with `input` on its standard input. Never rejects: a command that cannot be started
 * has failed. Of the hub's environment the command gets only PATH; its messages are in English. It runs in a
 * session of its own: a signal to the group of this process does not end it, for example when a terminal
 * closes. A pg_ctl that ended early would leave a server that nobody stops.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  { account, cwd = '/', input = '' }: { account?: Account | undefined; cwd?: string; input?: string } = {},
): Promise<CommandResult> {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
  return new Promise((resolve) => {
    const child = spawn(file, args, { ...account, cwd, env, detached: true });
    let printed = '';
    const keep = (text: string): void => {
      printed += text;
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', keep);
    child.once('error', (error) => resolve({ ok: false, output: error.message }));
    child.once('close', (code, signal) => {
      const reason = signal === null ? `status ${code}` : `signal ${signal}`;
      resolve({ ok: code === 0, output: printed.trim() || `${file} ended with ${reason}` });
    });
    // The status decides, even if a command does not read its input.
    child.stdin.on('error', () => {}).end(input);
  });
}
