// Builds the packages `hubctl` and `hubctl-client` in the current or the given directory.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildClient } from './build-client.js';
import { writeProgram } from './bundle-program.ts';
import { licensesOf } from './licenses.ts';
import { publishedManifest } from './published-manifest.js';

const root = join(import.meta.dirname, '../..');
const COMPILED = 'dist';

/** @returns {Promise<{ name: string, tarball: string, files: string[], size: number, unpackedSize: number }[]>} sizes in bytes */
export async function makePackages(destination) {
  mkdirSync(destination, { recursive: true }); // npm pack does not
  const packages = [];
  for (const stage of [stageHub, buildClient]) {
    const folder = mkdtempSync(join(tmpdir(), 'hub-package-'));
    try {
      await stage(folder);
      for (const path of globSync('**/*.md', { cwd: folder })) removeBrokenLinks(join(folder, path));
      const made = run('npm', ['pack', folder, '--json', '--pack-destination', destination]);
      const [{ name, filename, files, size, unpackedSize }] = JSON.parse(made);
      const tarball = join(destination, filename);
      packages.push({ name, tarball, files: files.map(({ path }) => path), size, unpackedSize });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  return packages;
}

async function stageHub(stage) {
  const bundled = await writeProgram(stage);
  writeFileSync(join(stage, COMPILED, 'LICENSES.txt'), await licensesOf('The hub', bundled));
  run(process.execPath, [join(root, 'console/build.ts'), join(stage, COMPILED, 'console')]);
  const manifest = publishedManifest();
  for (const path of globSync([...manifest.files, 'README.md', 'LICENSE'], { cwd: root })) {
    if (path !== COMPILED) cpSync(join(root, path), join(stage, path), { recursive: true });
  }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Replaces links to files that are not in the package with their text. */
function removeBrokenLinks(page) {
  const linked = readFileSync(page, 'utf8');
  const text = linked.replace(/!?\[([^\]]*)\]\(([^)#\s]+)(?:#[^)]*)?\)/g, (link, words, target) =>
    /^[a-z]+:/.test(target) || existsSync(join(dirname(page), target)) ? link : words,
  );
  if (text !== linked) writeFileSync(page, text);
}

function run(command, args) {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const kB = (bytes) => `${Math.round(bytes / 1000)} kB`;
  for (const { tarball, files, size, unpackedSize } of await makePackages(resolve(process.argv[2] ?? '.'))) {
    process.stdout.write(
      `${tarball}: ${files.length} files, ${kB(size)} packed, ${kB(unpackedSize)} unpacked\n`,
    );
  }
}
