// Bundles the program of a checkout, as the package does: it then starts faster and takes less memory.
//
// In JavaScript, because stripping types would take memory in each process.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders with sources of the bundle. */
export const SOURCES = ['cli', 'core', 'examples', 'gateway', 'gen', 'lib', 'scripts/release'];

/** The bundle is built again after a change of these too. Changes inside a package are not noticed. */
const OTHERS = ['package.json', 'tsconfig.json', 'node_modules', './node_modules/.package-lock.json'];

/** A file of a bundle, created before the sources are read. A source that changed later makes the bundle stale. */
const BEGUN = 'begun';
/** The names of files that say which processes use a bundle, before the process id. */
const USED_BY = 'used-by-';
const UNFINISHED = 'unfinished-';
/** An unfinished bundle of this age was interrupted. */
const INTERRUPTED_MS = 600_000;
/** The newest bundles are kept: a process that has just started may not have written its file yet. */
const KEPT = 2;

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
    unlessRefused(() => writeFileSync(join(bundle, `${USED_BY}${process.pid}`), ''));
    return { main: join(bundle, 'cli/main.js'), cache: join(bundle, 'cache') };
  } catch {
    return undefined;
  }
}

/**
 * The names of the finished bundles, the newest last: each is the time when it was finished. If the clock was set
 * back, old bundles have names in the future. They are left out.
 */
function finished(bundles) {
  const now = Date.now();
  return readdirSync(bundles)
    .filter((name) => /^\d+$/.test(name) && Number(name) <= now)
    .sort();
}

/**
 * Whether no source has changed since the bundle was begun. `find` looks at the files, because that would take
 * 4 MB of memory in this process.
 */
function isCurrent(root, bundle) {
  const inPackages = ['-path', 'node_modules/*', '-prune'];
  const changed = ['-cnewer', join(bundle, BEGUN), '-print'];
  const { status, stdout } = spawnSync('find', [...SOURCES, ...OTHERS, ...inPackages, '-o', ...changed], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (status !== 0) throw new Error('find failed');
  return stdout.length === 0;
}

function build(root, bundles) {
  if (process.stderr.isTTY) process.stderr.write('Bundling the source, because it has changed...\n');
  const unfinished = mkdtempSync(join(bundles, UNFINISHED));
  try {
    writeFileSync(join(unfinished, BEGUN), '');
    const bundler = join(root, 'scripts/release/bundle-program.ts');
    const { status } = spawnSync(process.execPath, [bundler, unfinished], { stdio: 'ignore' });
    if (status !== 0) throw new Error('the program cannot be bundled');
    const bundle = join(bundles, `${Date.now()}`);
    renameSync(unfinished, bundle);
    removeOld(bundles);
    return bundle;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** A running process loads parts of its bundle on demand, so a bundle stays while a process uses it. */
function removeOld(bundles) {
  const kept = finished(bundles).slice(-KEPT);
  for (const name of readdirSync(bundles)) {
    const path = join(bundles, name);
    unlessRefused(() => {
      const isOld = name.startsWith(UNFINISHED)
        ? statSync(path).mtimeMs < Date.now() - INTERRUPTED_MS
        : !kept.includes(name) && !isUsed(path);
      if (isOld) rmSync(path, { recursive: true, force: true });
    });
  }
}

function isUsed(bundle) {
  const ids = readdirSync(bundle).filter((name) => name.startsWith(USED_BY));
  return ids.some((name) => isAlive(Number(name.slice(USED_BY.length))));
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM'; // a process of another user
  }
}

/** Ignores errors: another process may remove the same bundle, or another user may own it. */
function unlessRefused(action) {
  try {
    action();
  } catch {
    // the bundle works nevertheless
  }
}
