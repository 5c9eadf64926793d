// Makes a release of the commit that is checked out: checks all of it, makes the packages of hub and client, and the bill of
// materials. With --publish, in a pipeline that can vouch for where they were built, publishes them.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makePackages } from './make-package.js';

process.chdir(join(import.meta.dirname, '..'));
const { values } = parseArgs({ options: { publish: { type: 'boolean', default: false } } });
const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const notes = notesOf(version);
const commit = git('rev-parse', 'HEAD');

const missing = [
  git('status', '--porcelain') !== '' && 'commit what is changed: a release is of a commit',
  git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`) ||
    `tag the commit: git tag -s v${version} -m v${version}`,
  notes === undefined && `give CHANGELOG.md a section "## [${version}] - YYYY-MM-DD"`,
  values.publish &&
    repository === undefined &&
    'set "repository" in package.json: the provenance of a package names it',
].filter((problem) => typeof problem === 'string');
if (missing.length > 0) {
  for (const problem of missing) process.stderr.write(`${problem}\n`);
  process.exit(1);
}

run('bash', '.ci/run');
mkdirSync('release', { recursive: true });
const packages = makePackages('release');
writeFileSync(join('release', 'sbom.json'), execFileSync(process.execPath, ['.ci/sbom.js', '--published']));
writeFileSync(join('release', 'notes.md'), `${notes}\n`);
// What was checked and packed is the commit, and nothing that came up meanwhile.
if (git('status', '--porcelain') !== '' || git('rev-parse', 'HEAD') !== commit) {
  process.stderr.write('the checkout has changed while the release was made: make it again\n');
  process.exit(1);
}
for (const { name, tarball, size, unpackedSize } of packages) {
  const checksum = createHash('sha512').update(readFileSync(tarball)).digest('base64');
  process.stdout.write(
    `${name} ${version}: ${tarball}, ${size} bytes, ${unpackedSize} unpacked\nsha512-${checksum}\n`,
  );
}
// The provenance (SLSA) is signed with the identity of the pipeline: npm refuses where there is none.
if (values.publish) {
  for (const { tarball } of packages) run('npm', 'publish', tarball, '--provenance', '--access', 'public');
}

/** The text of a version's section. */
function notesOf(wanted) {
  const [, ...sections] = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  const section = sections.find((text) =>
    new RegExp(`^\\[${RegExp.escape(wanted)}\\] - \\d{4}-\\d\\d-\\d\\d\n`).test(text),
  );
  return section?.slice(section.indexOf('\n')).trim();
}

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function run(command, ...args) {
  execFileSync(command, args, { stdio: 'inherit' });
}
