// The hubctl of a checkout bundles its source, again after a change.
import { execFile } from 'node:child_process';
import {
  appendFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { checkoutBundle, SOURCES } from '../../cli/checkout-bundle.js';
import { writeProgram } from '../../scripts/release/bundle-program.ts';

const ROOT = join(import.meta.dirname, '../..');
const COPIED = [...SOURCES, 'package.json', 'tsconfig.json'];

describe('hubctl in a checkout', function () {
  this.timeout(120_000); // it bundles several times
  let checkout: string;
  before(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'hub-checkout-'));
    for (const path of COPIED) await cp(join(ROOT, path), join(checkout, path), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  });
  after(() => rm(checkout, { recursive: true, force: true }));

  const version = async (): Promise<string> => {
    const line = [join(checkout, 'cli/hubctl.js'), '--version'];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, line, {
      env: { PATH: '/usr/bin:/bin' },
    });
    expect(stderr).to.equal('');
    return stdout.trim();
  };
  const bundles = (): Promise<string[]> => readdir(join(checkout, 'dist/checkout')).catch(() => []);

  it('bundles its source once', async () => {
    const first = await version();
    expect(first).to.match(/^\d+\.\d+\.\d+/);
    const built = await bundles();
    expect(built).to.have.length(1);
    expect(await version()).to.equal(first);
    expect(await bundles()).to.deep.equal(built);
  });

  it('knows all folders with sources', async () => {
    const inputs = await writeProgram(join(checkout, 'package'));
    const own = inputs.filter((path) => !path.startsWith('node_modules/'));
    expect(own).to.have.length.above(500);
    expect(own.filter((path) => !SOURCES.some((folder) => path.startsWith(`${folder}/`)))).to.deep.equal([]);
  });

  it('runs a changed source at once', async () => {
    await writeFile(
      join(checkout, 'cli/version.ts'),
      `export const packageVersion = (): string => 'changed';\n`,
    );
    expect(await version()).to.equal('changed');
  });

  it('can be started several times at once after a change', async () => {
    await appendFile(join(checkout, 'cli/version.ts'), '\n');
    expect(await Promise.all([version(), version(), version()])).to.deep.equal(Array(3).fill('changed'));
    expect(
      (await bundles()).filter((name) => !/^\d+$/.test(name)),
      'unfinished ones',
    ).to.deep.equal([]);
  });

  it('bundles again if an older file takes the place of a source', async () => {
    const older = join(checkout, 'older.ts');
    await writeFile(older, `export const packageVersion = (): string => 'replaced';\n`);
    await utimes(older, 0, 0);
    await rename(older, join(checkout, 'cli/version.ts'));
    expect(await version()).to.equal('replaced');
  });

  it('keeps the bundle of a running process, and the two newest', async () => {
    const [used = ''] = await bundles();
    await writeFile(join(checkout, 'dist/checkout', used, `used-by-${process.pid}`), '');
    for (let change = 0; change < 3; change++) {
      await appendFile(join(checkout, 'cli/version.ts'), '\n');
      await version();
    }
    expect(await bundles())
      .to.have.length(3)
      .and.include(used);
  });

  it('removes interrupted bundles', async () => {
    const interrupted = join(checkout, 'dist/checkout/unfinished-1');
    await mkdir(interrupted);
    await utimes(interrupted, 0, 0);
    await appendFile(join(checkout, 'cli/version.ts'), '\n');
    await version();
    expect(await bundles()).not.to.include('unfinished-1');
  });

  it('bundles again if the packages are replaced, or the clock was ahead', async () => {
    const newest = async () => (await bundles()).sort().at(-1) ?? '';
    const before = await newest();
    await rm(join(checkout, 'node_modules'));
    await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
    await version();
    const after = await newest();
    expect(after > before).to.equal(true);
    const ahead = String(Date.now() + 3_600_000);
    await rename(join(checkout, 'dist/checkout', after), join(checkout, 'dist/checkout', ahead));
    await version();
    expect(await newest()).not.to.equal(ahead);
  });

  it('runs the source if it cannot write a bundle', async () => {
    await rm(join(checkout, 'dist'), { recursive: true });
    await writeFile(join(checkout, 'dist'), ''); // a file where the folder would be
    expect(checkoutBundle(checkout)).to.equal(undefined);
    expect(await version()).to.equal('replaced');
  });
});
