// Creates and opens the cluster of the embedded PostgreSQL on disk.
//
// `<dataDir>/postgres` is the cluster's home, or a link to it: `data` (PGDATA), `password`, perhaps copied
// binaries.
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, undefinedIfMissing } from '../../../lib/caught-error.ts';
import { withDraft } from '../../../lib/files/draft-file.ts';
import { makeDirectory } from '../../../lib/files/make-directory.ts';
import { processPlace } from '../../../lib/process-place.ts';
import { canEnter, runsAsRoot, unprivilegedAccount } from './account.ts';
import { type Binaries, type PackagedBinaries, usableBinaries } from './binaries.ts';
import { type Account, runCommand } from './run-command.ts';

/** A cluster ready to be started. The server runs as `account`, the hub's own user if undefined. */
export type Cluster = {
  readonly home: string;
  readonly account: Account | undefined;
  readonly binaries: Binaries;
  readonly password: string;
};

/** For clusters whose data directory the server's user cannot enter. */
const SPARE_ROOT = '/var/lib/hubctl';

/** Opens the cluster of a data directory. Calls `onCreate` and creates it if there is none. */
export async function openCluster(
  dataDir: string,
  packaged: PackagedBinaries,
  onCreate: () => void,
): Promise<Cluster> {
  const path = join(dataDir, 'postgres');
  if ((await lstat(path).catch(undefinedIfMissing)) === undefined) {
    onCreate();
    await createCluster(dataDir, packaged);
  }
  const home = await realpath(path).catch((error) => {
    const remedy = 'Restore that directory, or remove the link to start with an empty database';
    throw new Error(`${path} links to a directory that is gone. ${remedy}`, { cause: error });
  });
  const data = join(home, 'data');
  const account = await ownerOf(data);
  const binaries = await usableBinaries(packaged, home, account);
  const major = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim();
  if (major !== binaries.major) {
    throw new Error(
      `${data} was made by PostgreSQL ${major}, and this hub contains PostgreSQL ${binaries.major}. ` +
        'Start the hub version that made it, dump the database, and restore the dump into a new ' +
        'data directory',
    );
  }
  return { home, account, binaries, password: await readFile(join(home, 'password'), 'utf8') };
}

/**
 * Creates a cluster beside its final place and renames it when it is complete, so that a crash leaves nothing
 * to repair. If another program is faster, its cluster stays.
 */
async function createCluster(dataDir: string, packaged: PackagedBinaries): Promise<void> {
  const account = await unprivilegedAccount();
  const homeMode = account ? 0o711 : 0o700;
  await makeDirectory(dataDir, homeMode);
  const path = join(dataDir, 'postgres');
  const create = async (draft: string): Promise<void> => {
    if (await canEnter(dataDir, account)) await mkdir(draft);
    else await symlink(await spareHome(), draft);

    const home = await realpath(draft);
    await chmod(home, homeMode);
    await requireReachable(home, account);
    await initialize(home, await usableBinaries(packaged, home, account), account);
    await sync(dirname(home));
    await publish(draft, path);
    await sync(dataDir);
  };
  await removeOldDrafts(dataDir);
  await withDraft(path, create, removeDraft);
}

/** Gives a complete cluster its final path, unless there is one. */
async function publish(draft: string, path: string): Promise<void> {
  const home = await readlink(draft).catch(() => undefined); // not a link
  try {
    if (home === undefined) return await rename(draft, path);
    // A link would replace another one. A draft that links to a cluster in use must not remain after a crash.
    await rm(draft);
    await symlink(home, path).catch(async (error) => {
      await rm(home, EVERYTHING);
      throw error;
    });
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error;
  }
}

async function initialize(home: string, binaries: Binaries, account: Account | undefined): Promise<void> {
  const data = join(home, 'data');
  const password = join(home, 'password');
  await mkdir(data, { mode: 0o700 });
  await writeFile(password, randomBytes(24).toString('hex'), { mode: 0o600, flush: true });
  if (account) {
    for (const path of [data, password]) await chown(path, account.uid, account.gid);
  }

  // The builtin locale sorts the same on every machine.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = ['--username=hub', '--pwfile=password', '--auth=scram-sha-256'];
  // All commits wait while PostgreSQL fills a new segment of the write-ahead log with zeros. 4 MB instead of
  // the default of 16 shorten this wait.
  const walSegments = '--wal-segsize=4';
  const initdb = ['-D', 'data', '--no-instructions', walSegments, ...access, ...locale];
  const createDatabase = ['--single', '-D', 'data', '-c', 'exit_on_error=on', 'postgres'];
  const outcomes = [
    () => runCommand(join(binaries.root, 'bin/initdb'), initdb, { account, cwd: home }),
    () =>
      runCommand(join(binaries.root, 'bin/postgres'), createDatabase, {
        account,
        cwd: home,
        input: 'CREATE DATABASE hub\n',
      }),
  ];
  for (const run of outcomes) {
    const { ok, output } = await run();
    if (!ok) throw new Error(`PostgreSQL could not create a cluster in ${home}: ${output}`);
  }
  await sync(home);
}

/** The account that owns a cluster, and must run it. */
async function ownerOf(data: string): Promise<Account | undefined> {
  const { uid, gid } = await stat(data);
  const root = runsAsRoot();
  if (root && uid === 0) {
    throw new Error(
      `${data} belongs to root, and PostgreSQL refuses to run as root: give it back to its owner ` +
        'with chown -R',
    );
  }
  if (!root && uid !== process.geteuid?.()) {
    throw new Error(`${data} belongs to user number ${uid}: run the hub as that user or as root`);
  }
  const account = root ? { uid, gid } : undefined;
  await requireReachable(data, account);
  return account;
}

async function requireReachable(directory: string, account: Account | undefined): Promise<void> {
  if (await canEnter(directory, account)) return;
  throw new Error(
    `${directory} cannot be reached by user number ${account?.uid ?? process.geteuid?.()}, as whom ` +
      'PostgreSQL runs: ' +
      'give that user access through its parent directories (chmod o+x), or choose another data directory',
  );
}

async function spareHome(): Promise<string> {
  if (await mkdir(SPARE_ROOT, { recursive: true })) await chmod(SPARE_ROOT, 0o755);
  return await mkdtemp(join(SPARE_ROOT, 'cluster-'));
}

/** The initdb of a hub that was killed may still be writing. */
const EVERYTHING = { recursive: true, force: true, maxRetries: 10 };

async function removeDraft(path: string): Promise<void> {
  const target = await readlink(path).catch(() => undefined); // not there, or not a link
  if (target && dirname(target) === SPARE_ROOT) await rm(target, EVERYTHING);
  await rm(path, EVERYTHING);
}

/** `postgres.new` is the draft of earlier versions. */
const DRAFT = /^postgres\.(?:new|([0-9a-f]{8})-\d+-[0-9a-f]{8}\.part)$/;
const OLD_MS = 3_600_000;

/**
 * Removes drafts that another container or an earlier version began more than an hour ago. A data directory
 * belongs to one container at a time, and each container may be a new place. `withDraft` removes the drafts
 * of this place.
 */
async function removeOldDrafts(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const draft = DRAFT.exec(name);
    if (draft === null || draft[1] === processPlace()) continue;
    const path = join(dataDir, name);
    const found = await lstat(path).catch(undefinedIfMissing);
    if (found && Date.now() - found.mtimeMs > OLD_MS) await removeDraft(path);
  }
}

/** Makes the names in a directory durable. */
async function sync(directory: string): Promise<void> {
  await using handle = await open(directory, 'r');
  await handle.sync();
}
