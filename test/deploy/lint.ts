// The linters for deploy/, each with its findings in a text.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { validate as validateDockerfile } from 'dockerfile-utils';
import type { Context } from 'mocha';
import { type Manifest, parseManifests, ROOT } from './files.ts';

const BIN = join(ROOT, 'node_modules/.bin');

/** Order is for the reader to judge, and so is which volumes are in quotes. */
const MATTERS_OF_TASTE = [
  'service-keys-order',
  'services-alphabetical-order',
  'top-level-properties-order',
  'no-quotes-in-volumes',
];

export function lintDockerfile(text: string): string[] {
  return validateDockerfile(text).map(({ message, range }) => `${range.start.line + 1}: ${message}`);
}

/** By the schema of the Compose specification, and by dclint's rules. */
export function lintCompose(text: string): string[] {
  return inFile('compose.yaml', text, (file) => {
    const skipped = MATTERS_OF_TASTE.flatMap((rule) => ['--disable-rule', rule]);
    const { stdout, stderr } = spawnSync(join(BIN, 'dclint'), [file, '-f', 'json', ...skipped], {
      encoding: 'utf8',
    });
    if (!stdout.startsWith('[')) throw new Error(`dclint: ${stdout}${stderr}`);
    const reports: { messages: { line: number; rule: string; message: string }[] }[] = JSON.parse(stdout);
    return reports.flatMap(({ messages }) =>
      messages.map(({ line, rule, message }) => `${line}: ${rule}: ${message}`),
    );
  });
}

/** What `systemd-analyze verify` says; the test is pending where there is none. */
export function verifyUnit(test: Context, text: string): string[] {
  return withUnit(text, (file) => systemdAnalyze(test, ['verify', file]).split('\n').filter(Boolean));
}

/** From 0, hardened, to 10; what the unit asks for, not what this machine runs. */
export function exposureOf(test: Context, text: string): number {
  return withUnit(text, (file) => {
    const said = systemdAnalyze(test, ['security', '--offline=yes', '--no-pager', file]);
    return Number(/Overall exposure level for \S+: ([\d.]+)/.exec(said)?.[1] ?? Number.NaN);
  });
}

function systemdAnalyze(test: Context, args: readonly string[]): string {
  const { stdout, stderr, error } = spawnSync('systemd-analyze', [...args], { encoding: 'utf8' });
  if (error !== undefined) {
    process.stderr.write('      pending: no systemd-analyze: it comes with systemd\n');
    return test.skip();
  }
  return `${stdout}${stderr}`;
}

/** With a program where the unit looks for one: it is installed nowhere here. */
function withUnit<T>(text: string, look: (file: string) => T): T {
  return inFile('hubctl.service', text, (file) => {
    const program = join(file, '../hubctl');
    writeFileSync(program, '');
    chmodSync(program, 0o755);
    writeFileSync(file, text.replace(/^ExecStart=\S+\/hubctl /m, `ExecStart=${program} `));
    return look(file);
  });
}

/** Values, by kubernetes-models: formats, allowed words, required members. */
export async function lintManifests(text: string): Promise<string[]> {
  const findings: string[] = [];
  for (const manifest of parseManifests(text)) {
    const models = await import(moduleOf(manifest));
    const Model = models[manifest.kind];
    if (Model === undefined) {
      findings.push(`there is no ${manifest.apiVersion} ${manifest.kind}`);
      continue;
    }
    try {
      new Model(manifest).validate();
    } catch (error) {
      findings.push(`${manifest.metadata.name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return findings;
}

/** Members that Kubernetes does not know, which its schemas let pass: the compiler does not, since they are literals. */
export function findUnknownMembers(text: string): string[] {
  const lines = parseManifests(text).map(
    (manifest, index) =>
      `import type { I${manifest.kind} as I${index} } from '${moduleOf(manifest)}';
       export const m${index}: I${index} = ${JSON.stringify(manifest, null, 1)};`,
  );
  return inFile('manifests.ts', lines.join('\n'), (file) => {
    const flags = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--ignoreConfig',
      '--types',
      '',
      '--pretty',
      'false',
    ];
    const { stdout } = spawnSync(join(BIN, 'tsc'), [...flags, '--module', 'nodenext', file], {
      encoding: 'utf8',
    });
    return stdout.split('\n').filter(Boolean);
  });
}

function moduleOf({ apiVersion }: Manifest): string {
  return `kubernetes-models/${apiVersion}`;
}

/** In a folder of its own inside the checkout, from where packages are found. */
function inFile<T>(name: string, text: string, look: (file: string) => T): T {
  const folder = mkdtempSync(join(ROOT, 'node_modules/.cache-deploy-'));
  try {
    const file = join(folder, name);
    writeFileSync(file, text);
    return look(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
