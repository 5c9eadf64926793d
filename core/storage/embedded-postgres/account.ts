// Chooses the user that runs the embedded PostgreSQL, which refuses to run as root.
import { type Account, runCommand } from './run-command.ts';

export function runsAsRoot(): boolean {
  return process.geteuid?.() === 0;
}

/** The user for a new cluster: undefined for the hub's own user; under root `postgres` or `nobody`. */
export async function unprivilegedAccount(): Promise<Account | undefined> {
  if (!runsAsRoot()) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([runCommand('id', ['-u', name]), runCommand('id', ['-g', name])]);
    if (uid.ok && gid.ok) return { uid: Number(uid.output), gid: Number(gid.output) };
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as. ' +
      'Add one, run the hub as another user, or set DATABASE_URL',
  );
}

/** Whether that user can enter a directory. */
export async function canEnter(directory: string, account: Account | undefined): Promise<boolean> {
  const { ok } = await runCommand('/bin/sh', ['-c', 'cd -P -- "$0"', directory], { account });
  return ok;
}
