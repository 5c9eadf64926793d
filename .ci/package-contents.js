// Checks the packages that would be published, hub and client: all that they need and nothing else, and that others can import
// from the client.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePackages } from './make-package.js';

const root = join(import.meta.dirname, '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
/** By so much the package may be smaller or larger than the README says. */
const TOLERANCE = 0.05;

const allowed = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|bench\/(README\.md|results\/full\.svg))$/,
  /^cli\/hubctl\.js$/,
  /^dist\/(cli|core|gateway|gen|metrics|ports|story|tracing)\/.+\.js$/,
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

/** All that is in the client's package. */
const ofClient = ['client', 'file-store']
  .flatMap((entry) => ['.js', '.cjs', '.d.ts', '.d.cts'].map((extension) => `${entry}${extension}`))
  .concat('LICENSE', 'README.md', 'package.json');
/** An application's installation grows by less than this for the client. */
const MOST_OF_CLIENT = 100_000;

const directory = mkdtempSync(join(tmpdir(), 'hub-package-'));
const problems = [];
try {
  const [hub, client] = makePackages(directory);
  for (const { name, files, size, unpackedSize } of [hub, client]) {
    process.stdout.write(`${name}: ${files.length} files, ${size} bytes packed, ${unpackedSize} unpacked\n`);
  }
  problems.push(
    ...hub.files
      .filter((path) => !allowed.some((pattern) => pattern.test(path)))
      .map((path) => `not to be published: ${path}`),
    ...needed.filter((path) => !isThere(path, hub.files)).map((path) => `missing: ${path}`),
    ...differsFromReadme(hub.size),
    ...problemsOfClient(client),
  );
  if (!hub.files.some((path) => path.startsWith('dist/core/storage/migrations/')))
    problems.push('missing: the migrations');
  for (const [command, ...args] of [
    ['publint', 'run', hub.tarball, '--strict'],
    ['publint', 'run', client.tarball, '--strict'],
    ['attw', client.tarball],
  ]) {
    try {
      execFileSync(command, args, { stdio: 'inherit' });
    } catch {
      problems.push(`${command} finds fault with ${args.find((word) => word.endsWith('.tgz'))}`);
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

function problemsOfClient({ name, files, unpackedSize }) {
  const differs = [...new Set([...files, ...ofClient])].filter(
    (path) => !files.includes(path) || !ofClient.includes(path),
  );
  return [
    ...differs.map((path) => `${name}: ${files.includes(path) ? 'not to be published' : 'missing'}: ${path}`),
    ...(unpackedSize < MOST_OF_CLIENT
      ? []
      : [`${name} has ${unpackedSize} bytes: keep it under ${MOST_OF_CLIENT}`]),
  ];
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
