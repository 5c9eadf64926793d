// What prevents a release, in a repository that stands in for this one.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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
  const release = async (flags: string[] = [], env = process.env): Promise<string> =>
    run(process.execPath, [join(home, 'scripts/release/release.js'), ...flags], { cwd: tmpdir(), env }).then(
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

  it('publishes only what is not published yet', async () => {
    const registry = await mkdtemp(join(tmpdir(), 'hub-registry-'));
    try {
      await writeFile(join(registry, 'npm'), `#!${process.execPath}\n${NPM}`, { mode: 0o755 });
      await writeFile(
        join(home, 'package.json'),
        '{ "name": "a", "version": "1.2.3", "type": "module", "repository": "forge" }',
      );
      await git('commit', '--quiet', '--all', '--message', 'Name the forge');
      await git('tag', 'v1.2.3');
      const publish = () =>
        release(['--publish'], { ...process.env, PATH: `${registry}:${process.env['PATH']}` });
      const published = async () => (await readFile(join(registry, 'log'), 'utf8')).trim().split('\n');
      expect(await publish()).to.contain('npm error code E500');
      expect(await published()).to.deep.equal(['a', 'b fails']);
      expect(await publish()).to.equal('released release/a.tgz release/b.tgz');
      expect(await published()).to.deep.equal(['a', 'b fails', 'b']);
      await writeFile(join(registry, 'b@1.2.3'), 'sha512-other');
      expect(await publish()).to.equal('b 1.2.3 is published already, with other contents (sha512-other)\n');
      expect(await published()).to.deep.equal(['a', 'b fails', 'b']);
    } finally {
      await rm(registry, { recursive: true });
    }
  });
});

/** Stands in for npm, with a registry in its own directory. The first publication of `b` fails. */
const NPM = `
const { createHash } = require('node:crypto');
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require('node:fs');
const { basename, join } = require('node:path');
const [command, subject] = process.argv.slice(2);
const log = (line) => appendFileSync(join(__dirname, 'log'), line + '\\n');
const fail = (code) => {
  console.error('npm error code ' + code);
  process.exit(1);
};
if (command === 'view') {
  const file = join(__dirname, subject);
  if (!existsSync(file)) fail('E404');
  console.log(readFileSync(file, 'utf8'));
} else {
  const name = basename(subject, '.tgz');
  const file = join(__dirname, name + '@1.2.3');
  if (existsSync(file)) fail('E403');
  if (name === 'b' && !readFileSync(join(__dirname, 'log'), 'utf8').includes('b fails')) {
    log('b fails');
    fail('E500');
  }
  log(name);
  writeFileSync(file, 'sha512-' + createHash('sha512').update(readFileSync(subject)).digest('base64'));
}
`;
