#!/usr/bin/env node
// The hubctl executable: finds a Node.js that can run the program. Has to parse on old Node, so it imports nothing of the program.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const OLDEST = 24;
const pinned = pinnedNode();

if (Number.parseInt(process.versions.node, 10) >= OLDEST) {
  if (process.env.HUBCTL_REEXEC !== undefined && process.channel) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
    process.channel.unref();
  }
  const source = new URL('./main.ts', import.meta.url); // in a checkout; a published package holds the compiled program only
  const compiled = new URL('../dist/cli/main.js', import.meta.url);
  await import((existsSync(source) ? source : compiled).href);
} else if (pinned !== undefined && process.env.HUBCTL_REEXEC === undefined) {
  runWith(pinned);
} else {
  process.stderr.write(
    `hubctl needs Node.js ${OLDEST} or later; this is ${process.version} (${process.execPath}). In a checkout, npm ci brings one.\n`,
  );
  process.exitCode = 1;
}

/** The Node.js that this checkout pins as a dependency, if it is installed here. */
function pinnedNode() {
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`);
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
