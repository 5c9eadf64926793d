#!/usr/bin/env node
// The hubctl executable: finds a Node.js that can run the program. Has to parse on old Node, so it imports nothing of the program.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { constants, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What `engines` in package.json says: a test compares them. */
const OLDEST = [24, 12];
const pinned = pinnedNode();

if (isRecent(process.versions.node)) {
  if (process.env.HUBCTL_REEXEC !== undefined && process.channel) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
    process.channel.unref();
  }
  const source = new URL('./main.ts', import.meta.url); // in a checkout; a published package holds the compiled program only
  const compiled = new URL('../dist/cli/main.js', import.meta.url);
  const inCheckout = existsSync(source);
  // To read and compile the program takes longer than to run most commands. But a hub holds all of what is cached, 6 MB, for as
  // long as it runs; in a checkout it would need still more without, as the types are stripped anew.
  const command = process.argv.slice(2).find((word) => !word.startsWith('-'));
  if (inCheckout) {
    nodeModule.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/hubctl', import.meta.url)));
  } else if (command !== 'serve') {
    const cache = userCache();
    if (cache !== undefined) nodeModule.enableCompileCache(cache);
  }
  await import((inCheckout ? source : compiled).href);
} else if (pinned !== undefined && process.env.HUBCTL_REEXEC === undefined) {
  runWith(pinned);
} else {
  process.stderr.write(
    `hubctl needs Node.js ${OLDEST.join('.')} or later; this is ${process.version} (${process.execPath}). In a checkout, npm ci brings one.\n`,
  );
  process.exitCode = 1;
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/**
 * A directory that is this user's own: in another anybody could put code. HOME may be that of who called sudo. Undefined
 * for one without a home; where the directory cannot be made, nothing is kept.
 */
function userCache() {
  const named = process.env.XDG_CACHE_HOME ?? '';
  try {
    return join(isAbsolute(named) ? named : join(userInfo().homedir, '.cache'), 'hubctl');
  } catch {
    return undefined;
  }
}

/** The Node.js that this checkout pins as a dependency, if it is installed here. */
function pinnedNode() {
  try {
    return nodeModule
      .createRequire(import.meta.url)
      .resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}

/** Runs this file with another Node.js and ends as it ends. */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    // The channel tells the child when this process is gone, even if it was killed.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, HUBCTL_REEXEC: '1' },
  });
  // The terminal sends Ctrl-C to both processes: passing it on as well would make two of it.
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
    if (signal !== null) process.kill(process.pid, signal); // a shell tells "killed" from "exited"
  });
}
