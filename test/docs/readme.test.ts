// The README, followed line by line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { SETTINGS } from '../../cli/settings.ts';
import { discard } from '../support/data-dir.ts';
import { HUBCTL } from '../support/hub-process.ts';
import { codeRows, fencedBlocks, ROOT, readPage } from './markdown.ts';

const README = readPage('README.md');

describe('the README', () => {
  it('lists every setting as it is', () => {
    const [, section = ''] = README.split('<!-- settings');
    const rows = codeRows(section).map((row) => row.join(' | '));
    expect(rows).to.deep.equal(
      SETTINGS.map(({ env, flag, fallback, description }) =>
        [env, flag === undefined ? '' : `\`--${flag}\``, fallback ? `\`${fallback}\`` : '', description].join(
          ' | ',
        ),
      ),
    );
  });

  it('takes a newcomer on a tour that works, with the output it shows', async function () {
    this.timeout(60_000);
    const tour = fencedBlocks(README, 'console').flatMap(steps);
    expect(tour.length).to.be.greaterThan(8);
    const outcomes = await onDemo(tour.map(({ command }) => command));
    tour.forEach(({ command, output }, index) => {
      expect(steady(outcomes[index]?.output ?? ''), command).to.equal(steady(output));
      expect(outcomes[index]?.code, command).to.equal(/laptop-2 activation/.test(command) ? 1 : 0);
    });
  });

  it('shows operators commands that work', async function () {
    this.timeout(60_000);
    const blocks = fencedBlocks(README, 'sh').filter((block) =>
      /^(npx hubctl|alias hubctl|curl)/.test(block),
    );
    expect(blocks).to.have.length(3);
    const commands = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').trim().split('\n'));
    const issue = 'npx hubctl key issue --app demo --output json > l.json';
    const outcomes = await onDemo([issue, `LICENSE=$(node -p 'require("./l.json").licenseId')`, ...commands]);
    expect(outcomes.map(({ code }) => code)).to.deep.equal(outcomes.map(() => 0));
    expect(outcomes.at(-1)?.output).to.include('"slug":"photo-lab"');
  });
});

type Step = { readonly command: string; readonly output: string };
type Outcome = { readonly output: string; readonly code: number };

/** A console block: commands after `$ `, each followed by what it prints. */
function steps(block: string): Step[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...output] = part.split('\n');
      return { command, output: output.join('\n') };
    });
}

/** Runs the commands in one shell beside a fresh demo, in a folder that looks like the checkout. */
async function onDemo(commands: readonly string[]): Promise<Outcome[]> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-tour-'));
  for (const name of ['cli', 'core', 'docs', 'gateway', 'gen', 'node_modules', 'package.json']) {
    await symlink(fileURLToPath(new URL(name, ROOT)), join(folder, name));
  }
  const dataDir = join(folder, '.hub');
  const ports = ['--port', '0', '--rpc-port', '0'];
  const demo = spawn(process.execPath, [HUBCTL, 'demo', '--json', ...ports, '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HUB_LOG_LEVEL: 'error' },
  });
  try {
    const [line] = (await once(createInterface(demo.stdout), 'line')) as [string];
    const { gateway, rpc } = JSON.parse(line);
    const script = commands
      .map((command) =>
        command.replaceAll('http://127.0.0.1:5099', gateway).replaceAll('http://127.0.0.1:5100', rpc),
      )
      .map((command) => `${command}\nprintf '\\n@@%d\\n' $?`)
      .join('\n');
    const shell = spawn('bash', ['-O', 'expand_aliases', '-c', script], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [output, complaints] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
    const outcomes = [...output.matchAll(/(.*?)\n@@(\d+)\n/gs)].map(([, said = '', code]) => ({
      output: said,
      code: Number(code),
    }));
    expect(outcomes, complaints).to.have.length(commands.length);
    return outcomes;
  } finally {
    demo.kill('SIGTERM');
    await once(demo, 'exit');
    await discard(dataDir);
    await rm(folder, { recursive: true, force: true });
  }
}

/** What differs from run to run, made the same. */
function steady(output: string): string {
  return output
    .trim()
    .replace(/\b(lic|seat)_[0-9a-z]{26}/g, '$1_…')
    .replace(/\b([0-9A-Z]{5}-){4}[0-9A-Z]{5}\b/g, 'KEY')
    .replace(/("keyHint": |Key ends with {2})"?[0-9A-Z]{5}"?/g, '$1HINT')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/g, 'TIME')
    .replace(/urn:uuid:[0-9a-f-]{36}/g, 'urn:uuid:…')
    .replace(/"(kid|signature)":"[\w-]+"/g, '"$1":"…"')
    .replace(/-----BEGIN PUBLIC KEY-----.*-----END PUBLIC KEY-----\\n/g, 'PEM');
}
