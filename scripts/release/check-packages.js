// Checks that the packages `hubctl` and `hubctl-client` contain exactly the files that they need, and that the client can be
// imported.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePackages } from './build-packages.js';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
/** Allowed relative difference between the package size and the size in the README. */
const TOLERANCE = 0.05;

const allowed = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|test\/bench\/([\w-]+\.md|results\/full\.svg))$/,
  /^cli\/hubctl\.js$/,
  /^dist\/(LICENSES\.txt|cli\/main\.js|chunks\/[A-Za-z0-9._-]+-[A-Z0-9]{8}\.js)$/,
  /^gateway\/openapi\/reference\/(openapi\.json|index\.html|viewer-[0-9a-f]+\.(js|css)\.gz|LICENSES\.txt)$/,
  /^docs\/([a-z]+(-[a-z]+)*\/)?[A-Za-z-]+\.md$/,
  /^examples\/shop\/shop\.ts$/,
  /^docs\/images\/console-session\.png$/,
  /^docs\/operations\/[a-z.-]+\.(json|yml)$/,
  /^docs\/receive\/[a-z]+\/[a-z]+\.(go|mod|py|ts)$/,
  /^docs\/reference\/events\/[a-z]+\/[a-z]+\.schema\.json$/,
  /^docs\/verify\/[a-z]+\/((src|test)\/)?[A-Za-z_-]+(\.test)?\.(cs|csproj|go|mod|java|mjs|py|toml|rs)$/,
  /^test\/vectors\/(README\.md|vectors\.json)$/,
  /^dist\/console\/(index\.html|LICENSES\.txt|(main|style|icon)-[A-Z0-9]{8}\.(js|css|svg))$/,
  /^proto\/(.+\.proto|README\.md|LICENSE|buf\.yaml)$/,
];
const needed = [
  'cli/hubctl.js',
  'dist/cli/main.js',
  'dist/LICENSES.txt',
  'gateway/openapi/reference/index.html',
  'gateway/openapi/reference/openapi.json',
  'gateway/openapi/reference/LICENSES.txt',
  'dist/console/index.html',
  'dist/console/LICENSES.txt',
  ...referencePageFiles(),
  ...samples(),
  'LICENSE',
  'README.md',
  ...readmeLinks(),
];

/** The files of the client's package. */
const clientFiles = ['client', 'file-store']
  .flatMap((entry) => ['.js', '.cjs', '.d.ts', '.d.cts'].map((extension) => `${entry}${extension}`))
  .concat('LICENSE', 'README.md', 'package.json');
/** Maximum unpacked size of the client, in bytes. */
const MAX_CLIENT_SIZE = 100_000;

const directory = mkdtempSync(join(tmpdir(), 'hub-package-'));
const problems = [];
try {
  const [hub, client] = await makePackages(directory);
  for (const { name, files, size, unpackedSize } of [hub, client]) {
    process.stdout.write(`${name}: ${files.length} files, ${size} bytes packed, ${unpackedSize} unpacked\n`);
  }
  problems.push(
    ...hub.files
      .filter((path) => !allowed.some((pattern) => pattern.test(path)))
      .map((path) => `unexpected file: ${path}`),
    ...needed.filter((path) => !includesPath(path, hub.files)).map((path) => `missing: ${path}`),
    ...checkReadmeSize(hub.size),
    ...checkClient(client),
  );
  if (!hub.files.some((path) => /^dist\/chunks\/Migration\d/.test(path)))
    problems.push('missing: the migrations');
  for (const [command, ...args] of [
    ['publint', 'run', hub.tarball, '--strict'],
    ['publint', 'run', client.tarball, '--strict'],
    ['attw', client.tarball],
  ]) {
    try {
      execFileSync(command, args, { stdio: 'inherit' });
    } catch {
      problems.push(`${command} found problems in ${args.find((word) => word.endsWith('.tgz'))}`);
    }
  }
} finally {
  rmSync(directory, { recursive: true });
}
problems.push(
  ...Object.entries(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages)
    .filter(([, { resolved }]) => resolved !== undefined)
    .map(([name]) => `the lock file has a URL for ${name}`),
);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Whether the path is a file, or a folder with files. */
function includesPath(path, files) {
  return files.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
}

function checkClient({ name, files, unpackedSize }) {
  const differs = [...new Set([...files, ...clientFiles])].filter(
    (path) => !files.includes(path) || !clientFiles.includes(path),
  );
  return [
    ...differs.map((path) => `${name}: ${files.includes(path) ? 'unexpected file' : 'missing'}: ${path}`),
    ...(unpackedSize < MAX_CLIENT_SIZE
      ? []
      : [`${name} has ${unpackedSize} bytes: keep it under ${MAX_CLIENT_SIZE}`]),
  ];
}

/** The README must not have broken links in the package. */
function readmeLinks() {
  const links = [...readme.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, link]) => link);
  return [...new Set(links)].filter((link) => !/^[a-z]+:/.test(link));
}

/** The samples of receivers and verifiers, and their tests. */
function samples() {
  const tracked = execFileSync('git', ['ls-files', 'docs/receive', 'docs/verify'], {
    cwd: root,
    encoding: 'utf8',
  });
  return tracked.trim().split('\n');
}

function checkReadmeSize(size) {
  const [, said] = /`hubctl-[^`]+\.tgz` \(([\d.]+) MB\)/.exec(readme) ?? [];
  if (Math.abs(Number(said) * 1e6 - size) <= size * TOLERANCE) return [];
  return [`README.md says ${said} MB, but the package has ${(size / 1e6).toFixed(2)} MB`];
}

/** The script and style of the page at /docs. */
function referencePageFiles() {
  const page = readFileSync(join(root, 'gateway/openapi/reference/index.html'), 'utf8');
  return page.match(/viewer-[0-9a-f]+\.(js|css)/g).map((name) => `gateway/openapi/reference/${name}.gz`);
}
