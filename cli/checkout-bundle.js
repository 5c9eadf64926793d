// Bundles the program of a checkout, as the package does: it then starts faster and takes less memory.
//
// In JavaScript, because stripping types would take memory in each process.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
  try {
    mkdirSync(bundles, { recursive: true });
    const newest = finished(bundles).at(-1);
    const bundle =
      newest !== undefined && isCurrent(root, join(bundles, newest))
        ? join(bundles, newest)
        : build(root, bundles);
    return { main: join(bundle, 'cli/main.js'), cache: join(bundle, 'cache') };
  } catch {
    return undefined;
  }
}

/** Names of bundles, the oldest first: each is the time when it was finished. */
function finished(bundles) {
  return readdirSync(bundles)
    .filter((name) => /^\d+$/.test(name))
    .sort();
}

/**
 * Whether no source has changed since the bundle was begun. A program of its own looks at the files, because that
 * would take 4 MB of memory in this process.
 */
function isCurrent(root, bundle) {
  const changed = [...SOURCES, ...MANIFESTS, '-cnewer', join(bundle, BEGUN)];
  const { status, stdout } = spawnSync('find', changed, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
  if (status !== 0) throw new Error('find failed');
  return stdout.length === 0;
}

/** A file of a bundle whose time is that of its beginning. */
const BEGUN = 'begun';

function build(root, bundles) {
  const unfinished = join(bundles, `unfinished-${process.pid}`);
  try {
    mkdirSync(unfinished);
    writeFileSync(join(unfinished, BEGUN), '');
    const bundler = join(root, 'scripts/release/bundle-program.ts');
    const { status } = spawnSync(process.execPath, [bundler, unfinished], { stdio: 'ignore' });
    if (status !== 0) throw new Error('the program cannot be bundled');
    const bundle = join(bundles, String(Date.now()));
    renameSync(unfinished, bundle);
    for (const name of finished(bundles).slice(0, -KEPT))
      rmSync(join(bundles, name), { recursive: true, force: true });
    return bundle;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
