// Checks the current commit and builds its packages and bill of materials. With --publish, publishes them with provenance.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makePackages } from './build-packages.js';

process.chdir(join(import.meta.dirname, '../..'));
const { values } = parseArgs({ options: { publish: { type: 'boolean', default: false } } });
const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const notes = notesOf(version);
const commit = git('rev-parse', 'HEAD');

const missing = [
  git('status', '--porcelain') !== '' && 'commit all changes first',
  git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`) ||
    `tag the commit: git tag -s v${version} -m v${version}`,
  notes === undefined && `add a section "## [${version}] - YYYY-MM-DD" to CHANGELOG.md`,
  values.publish &&
    repository === undefined &&
    'set "repository" in package.json: the provenance requires it',
].filter((problem) => typeof problem === 'string');
if (missing.length > 0) {
  for (const problem of missing) process.stderr.write(`${problem}\n`);
  process.exit(1);
}

run('bash', '.ci/run');
mkdirSync('release', { recursive: true });
const packages = await makePackages('release');
writeFileSync(
  join('release', 'sbom.json'),
  execFileSync(process.execPath, ['scripts/release/sbom.js', '--published']),
);
writeFileSync(join('release', 'notes.md'), `${notes}\n`);
// The packages must contain exactly the commit that CI checked.
if (git('status', '--porcelain') !== '' || git('rev-parse', 'HEAD') !== commit) {
  process.stderr.write('the checkout changed during the release: run it again\n');
  process.exit(1);
}
for (const { name, tarball, size, unpackedSize } of packages) {
  process.stdout.write(
    `${name} ${version}: ${tarball}, ${size} bytes, ${unpackedSize} unpacked\n${integrityOf(tarball)}\n`,
  );
}
if (values.publish) for (const each of packages) publish(each);

/** Skips a package that an earlier run has published. */
function publish({ name, tarball }) {
  const published = publishedIntegrity(name);
  if (published === undefined) {
    // npm signs the provenance (SLSA) with the identity of the pipeline, and refuses without one.
    run('npm', 'publish', tarball, '--provenance', '--access', 'public');
    return;
  }
  if (published !== integrityOf(tarball)) {
    process.stderr.write(`${name} ${version} is published already, with other contents (${published})\n`);
    process.exit(1);
  }
  process.stdout.write(`${name} ${version} is published already\n`);
}

/** Undefined if the version is not published. */
function publishedIntegrity(name) {
  try {
    const view = ['view', `${name}@${version}`, 'dist.integrity', '--prefer-online'];
    return execFileSync('npm', view, { encoding: 'utf8', stdio: 'pipe' }).trim() || undefined;
  } catch (error) {
    if (/\bE404\b/.test(error.stderr)) return undefined;
    throw error;
  }
}

/** As npm writes it. */
function integrityOf(tarball) {
  return `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
}

/** The text of a version in the changelog. */
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
