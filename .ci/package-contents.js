// Checks what would be published: everything that is needed to run, and nothing else.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const [{ files, size, unpackedSize }] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' }),
);
const paths = files.map(({ path }) => path);
const allowed = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  /^cli\/hubctl\.js$/,
  /^dist\/(cli|core|gateway|gen)\/.+\.js$/,
  /^proto\/.+\.proto$/,
];
const needed = [
  'cli/hubctl.js',
  'dist/cli/main.js',
  'dist/core/hub.js',
  'dist/gateway/gateway.js',
  'LICENSE',
  'README.md',
];
const migrations = paths.filter((path) => path.startsWith('dist/core/storage/migrations/'));
const problems = [
  ...paths
    .filter((path) => !allowed.some((pattern) => pattern.test(path)))
    .map((path) => `not to be published: ${path}`),
  ...needed.filter((path) => !paths.includes(path)).map((path) => `missing: ${path}`),
  ...(migrations.length === 0 ? ['missing: the migrations'] : []),
  ...Object.entries(JSON.parse(readFileSync('package-lock.json', 'utf8')).packages)
    .filter(([, { resolved }]) => resolved !== undefined)
    .map(([name]) => `the lock file names an address for ${name}`),
];
process.stdout.write(`${files.length} files, ${size} bytes packed, ${unpackedSize} unpacked\n`);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
