// Runs a command of the operating system, optionally as another user.
import { spawn } from 'node:child_process';

/** A user and group of the operating system, by number. */
export type Account = { readonly uid: number; readonly gid: number };

/** Whether a command ended with status 0, and its output. */
export type CommandResult = { readonly ok: boolean; readonly output: string };

type CommandOptions = {
  readonly account?: Account | undefined;
  readonly cwd?: string;
  readonly input?: string;
  /** Whether the command gets SIGINT if this process exits before it. */
  readonly interruptAtExit?: boolean;
};

/**
 * Runs a command in `cwd` with `input` on its standard input. Never rejects: a command that cannot be started
 * has failed. Of the hub's environment the command gets only PATH; its messages are in English. It runs in a
 * session of its own: a signal to the group of this process does not end it, for example when a terminal
 * closes. A pg_ctl that such a signal ended would leave a server that nobody stops.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  { account, cwd = '/', input = '', interruptAtExit = false }: CommandOptions = {},
): Promise<CommandResult> {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' };
  return new Promise((resolve) => {
    const child = spawn(file, args, { ...account, cwd, env, detached: true });
    const interrupt = (): void => void child.kill('SIGINT');
    if (interruptAtExit) process.on('exit', interrupt);
    let printed = '';
    const keep = (text: string): void => {
      printed += text;
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', keep);
    const end = (result: CommandResult): void => {
      process.off('exit', interrupt);
      resolve(result);
    };
    child.once('error', (error) => end({ ok: false, output: error.message }));
    child.once('close', (code, signal) => {
      const reason = signal === null ? `status ${code}` : `signal ${signal}`;
      end({ ok: code === 0, output: printed.trim() || `${file} ended with ${reason}` });
    });
    // The status decides, even if a command does not read its input.
    child.stdin.on('error', () => {}).end(input);
  });
}
