// Runs a command-line client against a hub of this process, without blocking it.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
export const BUF = `${ROOT}node_modules/.bin/buf`;

/** Runs in the root of the repository. Rejects only if the command cannot be started. */
export function run(command: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd: ROOT, timeout: 10_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error);
    });
  });
}
