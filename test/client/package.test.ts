// What is in the package for vendors: the client, its types, and nothing of the server.
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createVendorProject, type VendorProject } from './vendor-project.ts';

const PROGRAM = `
import { createLicenseClient, createMemoryStore, hasRoom, LicenseError } from 'hubctl/client';
import type { LicenseClientOptions, LicenseErrorCode, LicenseStore, UnlicensedReason, Verdict } from 'hubctl/client';

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
import { createFileStore } from 'hubctl/client/file-store';
const file: LicenseStore = createFileStore('license');
console.log(file);
`;
const EXACT = `
export function options(label: string | undefined, signal: AbortSignal | undefined): Partial<LicenseClientOptions> {
  void client.recheck({ signal, force: undefined });
  return {
    hubUrl: new URL('https://licenses.example.com'), trust: { publicKeyPems: undefined, thumbprints: [] },
    machineLabel: label, appVersion: label, keepLicenseKey: undefined, clockToleranceMs: undefined,
    timeoutMs: undefined, allowHttp: undefined, onError: undefined, fetch: label === undefined ? undefined : fetch,
    clock: undefined, random: undefined,
  };
}
`;
const WRONG = `
import { createLicenseClient, createMemoryStore } from 'hubctl/client';
const client = await createLicenseClient({
  hubUrl: 'https://licenses.example.com', app: 'photo-lab', trust: {}, machineFingerprint: 'machine-1',
  store: createMemoryStore(),
});
const { reason } = client.current();
`;

describe('the package, to a vendor,', function () {
  this.timeout(60_000); // it compiles and packs
  let project: VendorProject;
  before(async () => {
    project = await createVendorProject({ pack: true });
  });
  after(() => project?.[Symbol.asyncDispose]());

  const node = async (file: string): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [join(project.path, file)]);
    return stdout.trim();
  };

  const inNode = { types: ['node'], typeRoots: [join(import.meta.dirname, '../../node_modules/@types')] };
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
    ['one with types of browsers', PROGRAM, { module: 'nodenext', lib: ['es2022', 'dom'], types: [] }],
    [
      'one that is bundled',
      PROGRAM,
      { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom'], types: [] },
    ],
  ] as const) {
    it(`has types for ${where}`, async () => {
      await project.write('main.ts', program);
      expect(await project.compile(options, 'main.ts')).to.equal('');
    });
  }

  it('has types that find mistakes', async () => {
    await project.write('wrong.ts', WRONG);
    const complaints = await project.compile(
      { module: 'nodenext', lib: ['es2022', 'dom'], types: [] },
      'wrong.ts',
    );
    expect(complaints)
      .to.match(/Property 'freeLimits' is missing/)
      .and.match(/Property 'reason' does not exist/);
  });

  it('can be imported, and required', async () => {
    const program = 'console.log(typeof createLicenseClient, typeof createFileStore)';
    const names = ['{ createLicenseClient }', '{ createFileStore }'];
    const modules = ['hubctl/client', 'hubctl/client/file-store'];
    await project.write(
      'main.mjs',
      `${names.map((name, at) => `import ${name} from '${modules[at]}';`).join('\n')}${program}`,
    );
    await project.write(
      'main.cjs',
      `${names.map((name, at) => `const ${name} = require('${modules[at]}');`).join('\n')}${program}`,
    );
    expect(await node('main.mjs')).to.equal('function function');
    expect(await node('main.cjs')).to.equal('function function');
  });

  it('leads nowhere but to the client', async () => {
    await project.write(
      'deep.mjs',
      `await import('hubctl/dist/client/record.js').catch(({ code }) => console.log(code));`,
    );
    expect(await node('deep.mjs')).to.equal('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('has a client that imports nothing but itself, and a file store that imports Node.js besides', async () => {
    const imported = await importsFrom(join(project.packagePath, 'dist/client'), 'client.js');
    expect(imported.foreign).to.deep.equal([]);
    expect(imported.own).to.include('verdict.js').and.not.include('file-store.js');
    const ofStore = await importsFrom(join(project.packagePath, 'dist/client'), 'file-store.js');
    expect(ofStore.foreign).to.deep.equal(['node:crypto', 'node:fs/promises', 'node:path']);
    const modules = (await readdir(join(project.packagePath, 'dist/client'))).filter((name) =>
      name.endsWith('.js'),
    );
    expect(modules.sort()).to.deep.equal([...new Set([...imported.own, ...ofStore.own, 'store.js'])].sort());
  });
});

/** All modules that a module needs: those beside it, and any others. */
async function importsFrom(folder: string, entry: string): Promise<{ own: string[]; foreign: string[] }> {
  const own = new Set([entry]);
  const foreign = new Set<string>();
  for (const name of own) {
    const code = await readFile(join(folder, name), 'utf8');
    for (const [, specifier = ''] of code.matchAll(
      /(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*['"]([^'"]+)['"]/g,
    )) {
      if (/^\.\/[\w-]+\.js$/.test(specifier)) own.add(specifier.slice(2));
      else foreign.add(specifier);
    }
  }
  return { own: [...own], foreign: [...foreign].sort() };
}
