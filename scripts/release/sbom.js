// Prints a bill of materials in CycloneDX, from package-lock.json: for the checkout, or with --published for the package.
// Passes other arguments to `npm sbom`.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishedManifest } from './published-manifest.js';

const root = join(import.meta.dirname, '../..');
const options = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
const given = process.argv.slice(2);
const bill = given.includes('--published')
  ? ofPackage(given.filter((word) => word !== '--published'))
  : billIn(root, given);
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);

function billIn(directory, words) {
  const output = execFileSync('npm', ['sbom', ...options, ...words], {
    cwd: directory,
    maxBuffer: 64 * 1024 * 1024,
  });
  const found = JSON.parse(output.toString());
  // npm uses the folder's name.
  found.metadata.component.name = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).name;
  return found;
}

/** The dependencies that the package contains or installs. `--omit dev` would omit those that tools use too. */
function ofPackage(words) {
  const { optionalDependencies, ...manifest } = publishedManifest();
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { '': own, ...all } = lock.packages;
  const left = Object.keys(own.optionalDependencies).filter((name) => !(name in optionalDependencies));
  const brought = Object.entries(all).filter(
    ([path, { dev }]) => dev !== true && !left.includes(path.replace('node_modules/', '')),
  );
  const { devDependencies: _, ...kept } = own;
  const { dependencies } = own;
  const packages = { '': { ...kept, dependencies, optionalDependencies }, ...Object.fromEntries(brought) };
  const stage = mkdtempSync(join(tmpdir(), 'hub-sbom-'));
  try {
    const published = { ...manifest, dependencies, optionalDependencies };
    writeFileSync(join(stage, 'package.json'), JSON.stringify(published));
    writeFileSync(join(stage, 'package-lock.json'), JSON.stringify({ ...lock, packages }));
    return billIn(stage, words);
  } finally {
    rmSync(stage, { recursive: true });
  }
}
