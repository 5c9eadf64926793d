#!/usr/bin/env node
// The hubctl executable: runs the program with a Node.js that is recent enough.
//
// An old Node.js must be able to load this file, so it imports other files only after the check.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { constants, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The minimum version, as in `engines` of package.json; a test compares them. */
const MINIMUM = [24, 12];
const pinned = pinnedNode();

if (isRecent(process.versions.node)) {
  if (process.env.HUBCTL_REEXEC !== undefined && process.channel) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
    process.channel.unref();
  }
  // Compiling the program takes longer than most commands, so commands use a compile cache. A hub uses none,
  // because it would keep 6 MB of it in memory.
  const command = process.argv.slice(2).find((word) => !word.startsWith('-'));
  const { main, cache } = await program();
  const cacheInUse = command === 'serve' ? undefined : (cache ?? userCache());
  if (cacheInUse !== undefined) nodeModule.enableCompileCache(cacheInUse);
  await import(pathToFileURL(main).href);
} else if (pinned !== undefined && process.env.HUBCTL_REEXEC === undefined) {
  runWith(pinned);
} else {
  process.stderr.write(
    `hubctl needs Node.js ${MINIMUM.join('.')} or later; this is ${process.version} (${process.execPath}). ` +
      'In a checkout, npm ci installs one.\n',
  );
  process.exitCode = 1;
}

/**
 * The main file: that of the package, that of the checkout's bundle (with its own compile cache), or the source if it
 * cannot be bundled.
 */
async function program() {
  const root = join(import.meta.dirname, '..');
  const source = join(root, 'cli/main.ts');
  if (!existsSync(source)) return { main: join(root, 'dist/cli/main.js') };
  const { checkoutBundle } = await import('./checkout-bundle.js');
  return checkoutBundle(root) ?? { main: source };
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MINIMUM[0] || (major === MINIMUM[0] && minor >= MINIMUM[1]);
}

/**
 * The compile cache of this user: in a shared directory, another user could put code into it. HOME is not used,
 * because under sudo it may be the home directory of the calling user. Undefined for a user without one.
 */
function userCache() {
  const named = process.env.XDG_CACHE_HOME ?? '';
  try {
    return join(isAbsolute(named) ? named : join(userInfo().homedir, '.cache'), 'hubctl');
  } catch {
    return undefined;
  }
}

/** The path of the Node.js that this checkout pins as a dependency; undefined if it is not installed. */
function pinnedNode() {
  try {
    return nodeModule
      .createRequire(import.meta.url)
      .resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}

/** Runs this file with another Node.js, and exits with its exit code or signal. */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    // The child sees the end of this process by its channel, even after SIGKILL.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, HUBCTL_REEXEC: '1' },
  });
  // The terminal sends Ctrl-C to both processes. Forwarding it would send it twice.
  const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const forward = (signal) => (signal === 'SIGINT' && onTerminal ? undefined : child.kill(signal));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, forward);
  child.on('error', (error) => {
    process.stderr.write(`hubctl cannot run ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    for (const each of signals) process.off(each, forward);
    process.exitCode = code ?? 128 + constants.signals[signal];
    // A shell distinguishes a signal from an exit code.
    if (signal !== null) process.kill(process.pid, signal);
  });
}
