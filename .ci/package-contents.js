// Checks the package that would be published: all that it needs and nothing else, and that others can import from it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePackage } from './make-package.js';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
/** By so much the package may be smaller or larger than the README says. */
const TOLERANCE = 0.05;

const allowed = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|bench\/(README\.md|results\/full\.svg))$/,
  /^cli\/hubctl\.js$/,
  /^dist\/(cli|client|core|gateway|gen|metrics|ports|story|tracing)\/.+\.js$/,
  /^dist\/client\/.+\.d\.ts$/,
  /^dist\/gateway\/reference\/(openapi\.json|index\.html|viewer-[0-9a-f]+\.(js|css)\.gz|LICENSES\.txt)$/,
  /^docs\/([a-z]+(-[a-z]+)*\/)?[A-Za-z-]+\.md$/,
  /^docs\/operations\/[a-z.-]+\.(json|yml)$/,
  /^docs\/verify\/[a-z]+\/((src|test)\/)?[A-Za-z_-]+(\.test)?\.(cs|csproj|go|mod|java|mjs|py|toml|rs)$/,
  /^test\/vectors\/(README\.md|vectors\.json)$/,
  /^dist\/console\/(index\.html|LICENSES\.txt|(main|style|icon)-[A-Z0-9]{8}\.(js|css|svg))$/,
  /^proto\/(.+\.proto|README\.md|LICENSE|buf\.yaml)$/,
];
const needed = [
  'cli/hubctl.js',
  'dist/cli/main.js',
  'dist/core/hub.js',
  'dist/gateway/gateway.js',
  'dist/client/client.js',
  'dist/client/client.d.ts',
  'dist/client/file-store.js',
  'dist/client/file-store.d.ts',
  'dist/gateway/reference/index.html',
  'dist/gateway/reference/openapi.json',
  'dist/gateway/reference/LICENSES.txt',
  'dist/console/index.html',
  'dist/console/LICENSES.txt',
  ...partsOfPage(),
  ...samples(),
  'LICENSE',
  'README.md',
  ...linksOfReadme(),
];

const directory = mkdtempSync(join(tmpdir(), 'hub-package-'));
const problems = [];
try {
  const { tarball, files, size, unpackedSize } = makePackage(directory);
  process.stdout.write(`${files.length} files, ${size} bytes packed, ${unpackedSize} unpacked\n`);
  problems.push(
    ...files
      .filter((path) => !allowed.some((pattern) => pattern.test(path)))
      .map((path) => `not to be published: ${path}`),
    ...needed.filter((path) => !isThere(path, files)).map((path) => `missing: ${path}`),
    ...differsFromReadme(size),
  );
  if (!files.some((path) => path.startsWith('dist/core/storage/migrations/')))
    problems.push('missing: the migrations');
  for (const [command, ...args] of [
    ['publint', 'run', tarball, '--strict'],
    ['attw', tarball, '--profile', 'esm-only', '--exclude-entrypoints', './proto/*'],
  ]) {
    try {
      execFileSync(command, args, { stdio: 'inherit' });
    } catch {
      problems.push(`${command} finds fault with the package`);
    }
  }
} finally {
  rmSync(directory, { recursive: true });
}
problems.push(
  ...Object.entries(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages)
    .filter(([, { resolved }]) => resolved !== undefined)
    .map(([name]) => `the lock file names an address for ${name}`),
);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** A file, or a folder with files. */
function isThere(path, files) {
  return files.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
}

/** Whoever has the package reads its README, and follows its links. */
function linksOfReadme() {
  const links = [...readme.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, link]) => link);
  return [...new Set(links)].filter((link) => !/^[a-z]+:/.test(link));
}

/** Each with its test: whoever changes a sample wants to know that it still refuses what it must. */
function samples() {
  const tracked = execFileSync('git', ['ls-files', 'docs/verify'], { cwd: root, encoding: 'utf8' });
  return tracked.trim().split('\n');
}

function differsFromReadme(size) {
  const [, said] = /`hubctl-[^`]+\.tgz` \(([\d.]+) MB\)/.exec(readme) ?? [];
  if (Math.abs(Number(said) * 1e6 - size) <= size * TOLERANCE) return [];
  return [`README.md says that the package has ${said} MB: it has ${(size / 1e6).toFixed(2)}`];
}

/** The files that the reference page names. */
function partsOfPage() {
  const page = readFileSync(join(root, 'gateway/reference/index.html'), 'utf8');
  return page.match(/viewer-[0-9a-f]+\.(js|css)/g).map((name) => `dist/gateway/reference/${name}.gz`);
}
