// Third-party packages: listed, with accepted licenses, exact versions, and no unreviewed scripts.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { run } from '../core/rpc/server/run-command.ts';
import { codeRows, ROOT, readPage } from './markdown.ts';

type Locked = {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
};

const manifest = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
const locked = Object.entries<Locked>(
  JSON.parse(readFileSync(new URL('package-lock.json', ROOT), 'utf8')).packages,
)
  .filter(([path]) => path !== '')
  .map(([path, each]) => ({ ...each, name: each.name ?? path.split('node_modules/').at(-1) ?? path }));
const direct: Record<string, string> = {
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.devDependencies,
};
/** Scripts that npm runs on its own, as `npm help scripts` lists them. */
const LIFECYCLE =
  /^(pre|post)?(install|publish|prepare|pack|shrinkwrap)$|^(prepublishOnly|dependencies|(pre|post)(test|version).*)$/;
const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

describe('third-party packages', () => {
  it('have exact versions in package.json and in the lock file, with checksums', () => {
    for (const [name, version] of Object.entries(direct)) expect(version, name).to.match(EXACT);
    for (const { name, version, integrity, link } of locked) {
      expect(version, name).to.match(EXACT);
      expect(integrity, name).to.match(/^sha512-/);
      expect(link, name).to.equal(undefined);
    }
  });

  it('have licenses that docs/supply-chain.md accepts', () => {
    const [, list = ''] = /^Licenses we accept: ([^(]+)/m.exec(readPage('docs/supply-chain.md')) ?? [];
    const accepted = list
      .replace(/\band\b/, ',')
      .split(',')
      .map((each) => each.trim());
    const refused = locked.filter(({ license = 'none' }) => !isAccepted(license, accepted));
    expect(refused.map(({ name, license }) => `${name}: ${license}`)).to.deep.equal([]);
    expect(isAccepted('(MIT OR GPL-3.0)', accepted)).to.equal(true);
    expect(isAccepted('(MIT AND GPL-3.0)', accepted)).to.equal(false);
  });

  it('run no install scripts, and neither does this package', () => {
    expect(readPage('.npmrc').split('\n')).to.include('ignore-scripts=true');
    expect(Object.keys(manifest.scripts).filter((name) => LIFECYCLE.test(name))).to.deep.equal([]);
  });

  it('are listed in docs/dependencies.md (else: node scripts/gen/dependencies.ts)', () => {
    const [, list = ''] = readPage('docs/dependencies.md').split('## All packages');
    const rows = codeRows(list).map(([name, version, license]) => `${name} ${version} ${license}`);
    const expected = new Set(locked.map(({ name, version, license }) => `${name} ${version} ${license}`));
    expect(rows.sort()).to.deep.equal([...expected].sort());
  });

  it('have a reason if they are direct', () => {
    const [before = ''] = readPage('docs/dependencies.md').split('## All packages');
    const reasons = codeRows(before);
    expect(reasons.map(([name]) => name).sort()).to.deep.equal(Object.keys(direct).sort());
    for (const [name, reason] of reasons) expect(reason, name).to.not.equal('');
  });

  it('are all in the bill of materials, with checksum and license', async () => {
    const { code, stdout, stderr } = await run(process.execPath, ['scripts/release/sbom.js']);
    expect(code, stderr).to.equal(0);
    const bill: Bill = JSON.parse(stdout);
    expect(bill).to.include({ bomFormat: 'CycloneDX', specVersion: '1.5' });
    expect(bill.metadata.component).to.include({ name: manifest.name, version: manifest.version });
    const named = bill.components.map(({ name, version }) => `${name}@${version}`);
    expect(named.sort()).to.deep.equal(
      [...new Set(locked.map(({ name, version }) => `${name}@${version}`))].sort(),
    );
    for (const { purl, hashes, licenses } of bill.components) {
      expect(purl).to.match(/^pkg:npm\//);
      expect([hashes?.length, licenses?.length], purl).to.deep.equal([1, 1]);
    }
    const refs = new Set(bill.dependencies.map(({ ref }) => ref));
    for (const { dependsOn } of bill.dependencies) for (const ref of dependsOn) expect(refs).to.include(ref);
  });

  it('in the package are all in its bill of materials, without Node.js', async () => {
    const { code, stdout, stderr } = await run(process.execPath, ['scripts/release/sbom.js', '--published']);
    expect(code, stderr).to.equal(0);
    const bill: Bill = JSON.parse(stdout);
    const brought = locked.filter(({ name, dev }) => dev !== true && !name.startsWith('node-linux'));
    expect([...new Set(bill.components.map(({ name }) => name))].sort()).to.deep.equal(
      [...new Set(brought.map(({ name }) => name))].sort(),
    );
  });
});

type Bill = {
  readonly metadata: { readonly component: object };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes?: readonly unknown[];
    readonly licenses?: readonly unknown[];
  }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

/** Whether an SPDX expression without nesting can be met with these licenses. */
function isAccepted(expression: string, accepted: readonly string[]): boolean {
  const text = expression.replace(/[()]/g, '');
  const [parts, isMet] = text.includes(' OR ')
    ? [text.split(' OR '), (all: boolean[]) => all.some(Boolean)]
    : [text.split(' AND '), (all: boolean[]) => all.every(Boolean)];
  return isMet(parts.map((part) => accepted.includes(part)));
}
