// What prevents a release, in a repository that stands in for this one.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const RELEASE = fileURLToPath(new URL('../../../scripts/release/release.js', import.meta.url));

describe('npm run release', () => {
  let home: string;
  const git = (...words: string[]) =>
    run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...words], { cwd: home });
  /** From a directory that is not the repository's. */
  const release = async (): Promise<string> =>
    run(process.execPath, [join(home, 'scripts/release/release.js')], { cwd: tmpdir() }).then(
      ({ stdout }) => `released ${stdout.match(/release\/\w+\.tgz/g)?.join(' ')}`,
      ({ stderr }) => stderr,
    );

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'hub-release-'));
    await mkdir(join(home, '.ci'));
    await mkdir(join(home, 'scripts/release'), { recursive: true });
    await cp(RELEASE, join(home, 'scripts/release/release.js'));
    await writeFile(
      join(home, 'scripts/release/build-packages.js'),
      `import { writeFileSync } from 'node:fs';
       export const makePackages = () =>
         ['a', 'b'].map((name) => {
           const tarball = 'release/' + name + '.tgz';
           writeFileSync(tarball, 'a package');
           return { name, tarball, size: 9, unpackedSize: 9 };
         });`,
    );
    await writeFile(join(home, 'scripts/release/sbom.js'), '');
    await writeFile(join(home, '.ci/run'), 'true');
    await writeFile(join(home, '.gitignore'), 'release/');
    await writeFile(join(home, 'package.json'), '{ "name": "a", "version": "1.2.3", "type": "module" }');
    await writeFile(join(home, 'CHANGELOG.md'), '# Changelog\n\n## [1.2.3] - 2026-01-01\n\n- All of it.\n');
    await git('init', '--quiet');
    await git('add', '.');
    await git('commit', '--quiet', '--message', 'All of it');
  });
  afterEach(() => rm(home, { recursive: true }));

  it('builds a tagged commit, from any directory', async () => {
    expect(await release()).to.equal('tag the commit: git tag -s v1.2.3 -m v1.2.3\n');
    await git('tag', 'v1.2.3');
    expect(await release()).to.equal('released release/a.tgz release/b.tgz');
  });

  it('builds only what was committed, also at its end', async () => {
    await writeFile(join(home, '.ci/run'), 'echo more >> CHANGELOG.md');
    await git('commit', '--quiet', '--all', '--message', 'A check that writes');
    await git('tag', 'v1.2.3');
    expect(await release()).to.contain('the checkout changed during the release');
    expect(await release()).to.contain('commit all changes first');
  });
});
