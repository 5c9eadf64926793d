// Bundles the program of a checkout, as the package does: it then starts faster and takes less memory.
//
// In JavaScript, because stripping types would take memory in each process.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Folders with sources of the bundle. */
export const SOURCES = ['cli', 'core', 'examples', 'gateway', 'gen', 'lib', 'scripts/release'];
/** npm writes the second one when it installs packages. */
const MANIFESTS = ['package.json', 'node_modules/.package-lock.json'];

/** A running process loads parts of its bundle on demand, so old bundles are kept for a while. */
const KEPT = 5;

/**
 * The main file of the bundle, and a folder for its compiled code. Bundles the program if a source has changed.
 * Undefined if that fails, for example in a checkout that the user cannot write to.
 */
export function checkoutBundle(root) {
  const bundles = join(root, 'dist/checkout');
  const bundle = join(bundles, stateOf(root));
  const found = { main: join(bundle, 'cli/main.js'), cache: join(bundle, 'cache') };
  if (existsSync(found.main)) return found;
  const unfinished = `${bundle}-${process.pid}`;
  const { status } = spawnSync(
    process.execPath,
    [join(root, 'scripts/release/bundle-program.ts'), unfinished],
    { stdio: 'ignore' },
  );
  try {
    if (status === 0) renameSync(unfinished, bundle);
  } catch {
    // another process was faster
  }
  rmSync(unfinished, { recursive: true, force: true });
  if (!existsSync(found.main)) return undefined;
  removeOld(bundles);
  return found;
}

/** A digest of the times and sizes of all sources. */
function stateOf(root) {
  const digest = createHash('sha256');
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
  );
  for (const file of [...files.sort(), ...MANIFESTS]) {
    const { mtimeMs, size } = statSync(join(root, file), { throwIfNoEntry: false }) ?? {};
    digest.update(`${file} ${mtimeMs} ${size}\n`);
  }
  return digest.digest('hex').slice(0, 16);
}

function removeOld(bundles) {
  const byAge = readdirSync(bundles)
    .map((name) => ({ name, time: statSync(join(bundles, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { name } of byAge.slice(KEPT)) rmSync(join(bundles, name), { recursive: true, force: true });
}
