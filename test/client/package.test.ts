// The client's package after its installation by a vendor: its contents, its types, and its imports.
import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createVendorProject, type VendorProject } from './vendor-project.ts';

const ROOT = join(import.meta.dirname, '../..');

const PROGRAM = `
import { createLicenseClient, createMemoryStore, hasRoom, LicenseError } from 'hubctl-client';
import type { LicenseClientOptions, LicenseErrorCode, LicenseStore, UnlicensedReason, Verdict } from 'hubctl-client';

const store: LicenseStore = createMemoryStore();
export type Options = LicenseClientOptions;
const client = await createLicenseClient({
  hubUrl: 'https://licenses.example.com',
  app: 'photo-lab',
  trust: { thumbprints: ['${'A'.repeat(43)}'] },
  machineFingerprint: 'machine-1',
  freeLimits: { projects: 1 },
  store,
});
const verdict: Verdict = client.current();
if (verdict.licensed) {
  const until: Date | undefined = verdict.validUntil;
  const customer: string | undefined = verdict.license.customer;
  console.log(until, customer);
} else {
  const reason: UnlicensedReason = verdict.reason;
  console.log(reason, hasRoom(verdict.limits, 'projects', 0), new LicenseError('network', 'x').isRetryable);
}
export function isNoSeat(error: unknown): boolean {
  const code: LicenseErrorCode | undefined = error instanceof LicenseError ? error.code : undefined;
  return code === 'seat_limit_reached';
}
`;
const FILE = `
import { createFileStore } from 'hubctl-client/file-store';
const file: LicenseStore = createFileStore('license');
console.log(file);
`;
const EXACT = `
export function options(label: string | undefined, signal: AbortSignal | undefined): Partial<LicenseClientOptions> {
  void client.recheck({ signal, force: undefined });
  return {
    hubUrl: new URL('https://licenses.example.com'), trust: { publicKeyPems: undefined, thumbprints: ['kid'] },
    machineLabel: label, appVersion: label, keepLicenseKey: undefined, clockToleranceMs: undefined,
    softCheckIntervalMs: undefined, timeoutMs: undefined, allowHttp: undefined, onError: undefined,
    fetch: label === undefined ? undefined : fetch, clock: undefined, random: undefined,
  };
}
`;
const COMMON_JS = `
import { createLicenseClient, LicenseError, type LicenseClientOptions, type Verdict } from 'hubctl-client';
import { createFileStore } from 'hubctl-client/file-store';
export const open = async (options: LicenseClientOptions): Promise<Verdict> =>
  (await createLicenseClient({ ...options, store: createFileStore('license') })).current();
export const isOurs = (error: unknown): boolean => error instanceof LicenseError;
`;
const WRONG = `
import { createLicenseClient, createMemoryStore, type Trust } from 'hubctl-client';
const client = await createLicenseClient({
  hubUrl: 'https://licenses.example.com', app: 'photo-lab', trust: { thumbprints: [] }, machineFingerprint: 'machine-1',
  store: createMemoryStore(),
});
const { reason } = client.current();
export const noTrust: Trust = {};
export const unsetTrust: Trust = { publicKeyPems: undefined };
`;

describe('the client package', () => {
  let project: VendorProject;
  before(async () => {
    project = await createVendorProject({ install: true });
  });
  after(() => project?.[Symbol.asyncDispose]());

  const node = async (file: string): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(project.path, file)]);
    return stdout.trim();
  };

  it('has less than 100 kB, with both formats and their types, a README and the license', async () => {
    const packages = await readdir(join(project.path, 'node_modules'));
    expect(packages.filter((name) => !name.startsWith('.'))).to.deep.equal(['hubctl-client']);
    const files = await readdir(project.packagePath, { recursive: true });
    const entries = ['client', 'file-store'].flatMap((entry) =>
      ['.js', '.cjs', '.d.ts', '.d.cts'].map((extension) => entry + extension),
    );
    expect(files).to.have.members([...entries, 'LICENSE', 'README.md', 'package.json']);
    const sizes = await Promise.all(files.map((file) => stat(join(project.packagePath, file))));
    expect(sizes.reduce((sum, { size }) => sum + size, 0)).to.be.below(100_000);
  });

  it('has no dependencies, and the version of the hub', async () => {
    const [own, hub] = await Promise.all(
      [project.packagePath, ROOT].map(async (path) =>
        JSON.parse(await readFile(join(path, 'package.json'), 'utf8')),
      ),
    );
    expect(own).to.not.have.any.keys(
      ...['private', 'scripts', 'dependencies', 'devDependencies'],
      ...['peerDependencies', 'optionalDependencies', 'bundleDependencies'],
    );
    expect(own.version).to.equal(hub.version);
  });

  const inNode = { types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] };
  const exact = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  for (const [where, program, options] of [
    ['an application of Node.js', PROGRAM + FILE, { module: 'nodenext', lib: ['es2024'], ...inNode }],
    [
      'one of Node.js without the types of browsers, and with exact optional properties',
      PROGRAM + FILE + EXACT,
      { module: 'nodenext', lib: ['es2022'], ...inNode, ...exact },
    ],
    [
      'one with neither types',
      `declare const console: { log(...what: unknown[]): void };\n${PROGRAM}${FILE}`,
      { module: 'nodenext', lib: ['es2022'], types: [], ...exact },
    ],
    ['one with types of browsers', PROGRAM, { module: 'node16', lib: ['es2022', 'dom'], types: [] }],
    [
      'one that is bundled',
      PROGRAM + FILE,
      { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] },
    ],
  ] as const) {
    it(`has types for ${where}`, async () => {
      await project.write('main.ts', program);
      expect(await project.compile(options, 'main.ts')).to.equal('');
    });
  }

  it('has types for CommonJS', async () => {
    await project.write('main.cts', COMMON_JS);
    const options = { module: 'node16', lib: ['es2022', 'dom'], types: [] };
    expect(await project.compile(options, 'main.cts')).to.equal('');
  });

  it('has types for resolution without "exports", with an old compiler', async () => {
    await project.write('main.ts', COMMON_JS);
    const options = { module: 'commonjs', moduleResolution: 'node10', lib: ['es2022', 'dom'], types: [] };
    expect(await project.compile(options, 'main.ts', olderCompiler())).to.equal('');
  });

  it('has types that find mistakes', async () => {
    await project.write('wrong.ts', WRONG);
    const complaints = await project.compile(
      { module: 'nodenext', lib: ['es2022', 'dom'], types: [] },
      'wrong.ts',
    );
    expect(complaints)
      .to.match(/Property 'freeLimits' is missing/)
      .and.match(/Property 'reason' does not exist/)
      .and.match(/^wrong\.ts\(8,.* Type '\{\}' is not assignable to type 'Trust'/m)
      .and.match(
        /^wrong\.ts\(9,.* Type '\{ publicKeyPems: undefined; \}' is not assignable to type 'Trust'/m,
      );
  });

  it('works with import and require', async () => {
    const program = 'console.log(typeof createLicenseClient, typeof createFileStore)';
    const names = ['{ createLicenseClient }', '{ createFileStore }'];
    const modules = ['hubctl-client', 'hubctl-client/file-store'];
    await project.write(
      'main.mjs',
      `${names.map((name, at) => `import ${name} from '${modules[at]}';`).join('\n')}${program}`,
    );
    await project.write(
      'main.cjs',
      `${names.map((name, at) => `const ${name} = require('${modules[at]}');`).join('\n')}
       ${modules.map((name) => `console.log(require.resolve('${name}').endsWith('.cjs'));`).join('\n')}${program}`,
    );
    expect(await node('main.mjs')).to.equal('function function');
    expect(await node('main.cjs')).to.equal('true\ntrue\nfunction function');
  });

  it('exports the same members to import and require', async () => {
    for (const name of ['hubctl-client', 'hubctl-client/file-store']) {
      const print = 'console.log(Object.keys(all).filter((key) => all[key] !== undefined).sort().join());';
      await project.write('all.mjs', `import * as all from '${name}';${print}`);
      await project.write('all.cjs', `const all = require('${name}');${print}`);
      const names = await node('all.mjs');
      expect(names).to.match(/create/);
      expect(await node('all.cjs')).to.equal(names);
    }
  });

  it('keeps function names in stack traces', async () => {
    await project.write(
      'stack.mjs',
      `import { createLicenseClient } from 'hubctl-client';
       await createLicenseClient({}).catch(({ stack }) => console.log(stack));`,
    );
    expect(await node('stack.mjs'))
      .to.match(/ at checkOptions /)
      .and.match(/ at .*createLicenseClient /);
  });

  it('exports only the client', async () => {
    await project.write(
      'deep.mjs',
      `await import('hubctl-client/client.cjs').catch(({ code }) => console.log(code));`,
    );
    expect(await node('deep.mjs')).to.equal('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('imports nothing in the client, and only Node.js in the file store', async () => {
    for (const extension of ['.js', '.cjs']) {
      expect(await importsOf(join(project.packagePath, `client${extension}`))).to.deep.equal([]);
      const ofStore = await importsOf(join(project.packagePath, `file-store${extension}`));
      expect(ofStore).to.deep.equal(['node:crypto', 'node:fs/promises', 'node:path']);
    }
  });
});

/** That of a tool: our own no longer has the resolution of Node.js 10. */
function olderCompiler(): string {
  const tool = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
  const core = createRequire(tool).resolve('@arethetypeswrong/core');
  return createRequire(core).resolve('typescript/bin/tsc');
}

/** All modules that a module names. */
async function importsOf(file: string): Promise<string[]> {
  const code = await readFile(file, 'utf8');
  const named = code.matchAll(/(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*['"]([^'"]+)['"]/g);
  return [...new Set([...named].map(([, specifier = '']) => specifier))].sort();
}
