// Builds the packages `hubctl` and `hubctl-client` in the current or the given directory.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildClient } from './build-client.js';
import { publishedManifest } from './published-manifest.js';

const root = join(import.meta.dirname, '../..');
const COMPILED = 'dist';
/** Folders with files that compiled code reads at run time. */
const WITH_ASSETS = ['gateway/openapi/reference'];

/** @returns {{ name: string, tarball: string, files: string[], size: number, unpackedSize: number }[]} sizes in bytes */
export function makePackages(destination) {
  return [stageHub, buildClient].map((stage) => {
    const folder = mkdtempSync(join(tmpdir(), 'hub-package-'));
    try {
      stage(folder);
      for (const path of globSync('**/*.md', { cwd: folder })) removeBrokenLinks(join(folder, path));
      const made = run('npm', ['pack', folder, '--json', '--pack-destination', destination]);
      const [{ name, filename, files, size, unpackedSize }] = JSON.parse(made);
      const tarball = join(destination, filename);
      return { name, tarball, files: files.map(({ path }) => path), size, unpackedSize };
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

function stageHub(stage) {
  const manifest = publishedManifest();
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  // `npm run types` checks the types. To check them again takes five times as long as to compile.
  const options = ['-p', join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', join(stage, COMPILED)];
  run(process.execPath, [tsc, ...options]);
  run(process.execPath, [join(root, 'console/build.ts'), join(stage, COMPILED, 'console')]);
  for (const folder of WITH_ASSETS) {
    const filter = (path) => !path.endsWith('.ts');
    cpSync(join(root, folder), join(stage, COMPILED, folder), { recursive: true, filter });
  }
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
  for (const { tarball, files, size, unpackedSize } of makePackages(resolve(process.argv[2] ?? '.'))) {
    process.stdout.write(
      `${tarball}: ${files.length} files, ${kB(size)} packed, ${kB(unpackedSize)} unpacked\n`,
    );
  }
}
