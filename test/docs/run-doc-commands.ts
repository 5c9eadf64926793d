// Runs the commands of pages against a demo, and normalizes what differs between runs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../core/storage/embedded-postgres/free-port.ts';
import { discard } from '../support/hub/data-dir.ts';
import { HUBCTL } from '../support/hub/hub-process.ts';
import { createMigratedDatabase } from '../support/postgres/databases.ts';
import { serveHubctl } from './in-process-hubctl.ts';
import { ROOT } from './markdown.ts';

export type Step = { readonly command: string; readonly output: string };
/** What a command printed, the code it ended with, and what it complained about meanwhile. */
export type Outcome = { readonly output: string; readonly code: number; readonly complaints: string };

export type FollowOptions = {
  /** Texts that the commands contain, and what replaces them. */
  readonly stand?: Readonly<Record<string, string>>;
  /** Runs `hubctl` and `npx hubctl` in the process of the tests where that prints the same. */
  readonly inProcess?: boolean;
};

export type Demo = {
  /** Runs the commands in one shell, in a folder that looks like the checkout. */
  follow(commands: readonly string[], options?: FollowOptions): Promise<Outcome[]>;
  stop(): Promise<void>;
};

/** A console block: commands after `$ `, each followed by what it prints. A backslash continues a command. */
export function steps(block: string): Step[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [, command = '', output = ''] = /^((?:[^\n]*\\\n)*[^\n]*)\n?(.*)$/s.exec(part) ?? [];
      return { command: command.trim(), output };
    });
}

const MARK = '@@';
/** Those of hubs that a page starts itself. */
const FREE_PORTS = [5199, 5200, 5299, 5300];

/** The first command by npx runs npx. */
const FIRST_BY_NPX = 'npx() { [ ! -e .npx ] || { "$@"; return; }; : > .npx; command npx "$@"; }';

/** @param databaseUrl the demo's database. By default the demo creates a PostgreSQL cluster. */
export async function startDemo(databaseUrl?: string): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-tour-'));
  const dataDir = join(folder, '.hub');
  // The pages exceed the rate limit of one client, and inspect waiting callbacks.
  const calm = ['--license-rate-per-minute', '0', '--retry-delay-seconds', '3600'];
  const ports = ['--port', '0', '--rpc-port', '0', '--simulator-port', '0'];
  const demo = spawn(
    process.execPath,
    [HUBCTL, 'demo', '--output', 'json', ...ports, ...calm, '--data-dir', dataDir],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        HUB_LOG_LEVEL: 'error',
        ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      },
    },
  );
  const [line] = (await once(createInterface(demo.stdout), 'line')) as [string];
  const { gateway, rpc, simulator, shop } = JSON.parse(line);
  const portOf = (url: string): string => new URL(url).port;

  return {
    async follow(commands, { stand = {}, inProcess = false } = {}) {
      const place = await makeCheckout(dataDir);
      const hubctl = inProcess ? await serveHubctl() : undefined;
      const ports: Record<string, string> = {
        5097: portOf(shop),
        5098: portOf(simulator),
        5099: portOf(gateway),
        5100: portOf(rpc),
      };
      for (const port of FREE_PORTS) ports[port] = String(await freePort());
      const actual = (command: string): string =>
        Object.entries(stand)
          .reduce((changed, [written, real]) => changed.replaceAll(written, real), command)
          .replace(/\b5\d{3}\b/g, (port) => ports[port] ?? port);
      const mark = `{ code=$?; printf '\\n${MARK}%d\\n' $code; printf '\\n${MARK}\\n' >&2; }`;
      const script = [
        // npx and the start of hubctl take longer than most commands.
        ...(hubctl === undefined ? [FIRST_BY_NPX] : [hubctl.definition, 'npx() { "$@"; }']),
        `trap 'kill $(jobs -p) 2> /dev/null; wait' EXIT`, // a page that fails half-way leaves no hub behind
        ...commands.map((command) => `${actual(command)}\n${mark}`),
      ].join('\n');
      const shell = spawn('bash', ['-O', 'expand_aliases', '-c', script], {
        cwd: place,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          PATH: [join(place, 'bin'), dirname(process.execPath), process.env['PATH']].join(':'),
          HUB_DRAIN_SECONDS: '0', // no load balancer sends requests
          HUB_RPC_PORT: '0', // for hubs whose page names no port; the machine may have a hub on the usual one
          XDG_CONFIG_HOME: join(place, 'config'), // no context of whoever runs the tests
        },
      });
      const [output, complaints] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
      hubctl?.close();
      await tidy(place);
      const complained = complaints.split(`\n${MARK}\n`);
      const outcomes = [...output.matchAll(/(.*?)\n@@(\d+)\n/gs)].map(([, said = '', code], index) => ({
        output: said,
        code: Number(code),
        complaints: complained[index] ?? '',
      }));
      expect(outcomes, complaints).to.have.length(commands.length);
      return outcomes;
    },

    async stop() {
      demo.kill('SIGTERM');
      await once(demo, 'exit');
      await discard(dataDir);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the commands in one shell beside a fresh demo. */
export async function onDemo(commands: readonly string[]): Promise<Outcome[]> {
  const demo = await startDemo(await createMigratedDatabase());
  try {
    return await demo.follow(commands, { inProcess: true });
  } finally {
    await demo.stop();
  }
}

/** A folder that looks like the checkout in which the demo was started. */
async function makeCheckout(dataDir: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-tour-'));
  for (const name of ['cli', 'client', 'docs', 'node_modules', 'package.json', 'proto']) {
    await symlink(fileURLToPath(new URL(name, ROOT)), join(folder, name));
  }
  await symlink(dataDir, join(folder, '.hub'));
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/hubctl'), `#!/bin/sh\nexec node ${HUBCTL} "$@"\n`, { mode: 0o755 });
  return folder;
}

/** Removes the folder, with the hubs that were made in it. */
async function tidy(place: string): Promise<void> {
  for (const entry of await readdir(place, { withFileTypes: true })) {
    if (entry.isDirectory()) await discard(join(place, entry.name));
  }
  await rm(place, { recursive: true, force: true });
}

/** What differs from run to run, made the same. */
export function steady(output: string): string {
  return output
    .trim()
    .replace(/\b(app|lic|ofr|ord|mal|seat|chs|use|cb|slot|tok|fee|cus|ksec)_[0-9a-z]{26}/g, '$1_…')
    .replace(/\bhub_[0-9a-z]{26}_[\w-]+/g, 'TOKEN')
    .replace(/\b[0-9A-F]{32}\b|\b[0-9A-Z]{26}\b|\b[0-9A-F]{20}\b|\b[0-9a-f]{16}\b/g, 'REFERENCE')
    .replace(/\b([0-9A-Z]{5}-){4}[0-9A-Z]{5}\b/g, 'KEY')
    .replace(/("keyHint": ?|Key ends with +|…)"?[0-9A-Z]{5}"?/g, '$1HINT')
    .replace(/(Last active +)\d{4}-\d\d-\d\d/g, '$1DAY')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z/g, 'TIME')
    .replace(/urn:uuid:[0-9a-f-]{36}/g, 'urn:uuid:…')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replace(/\b\d+ ms\b/g, 'N ms')
    .replace(/;t=\d+$/gm, ';t=N')
    .replace(/"(kid|signature)":"[\w-]+"/g, '"$1":"…"')
    .replace(/(?<![\w-])[\w-]{43}(?![\w-])/g, 'KID')
    .replace(/-----BEGIN PUBLIC KEY-----.*-----END PUBLIC KEY-----\\n/g, 'PEM');
}
