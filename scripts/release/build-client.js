// Builds the files of the package `hubctl-client`: ESM, CommonJS and types.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildSync } from 'esbuild';
import { publishedManifest } from './published-manifest.js';

const root = join(import.meta.dirname, '../..');
const client = join(root, 'client');
const ENTRIES = ['client', 'file-store'];

export function buildClient(folder) {
  mkdirSync(folder, { recursive: true });
  for (const [format, extension] of [
    ['esm', '.js'],
    ['cjs', '.cjs'],
  ]) {
    buildSync({
      absWorkingDir: client,
      entryPoints: ENTRIES.map((name) => `${name}.ts`),
      bundle: true,
      format,
      outExtension: { '.js': extension },
      outdir: folder,
      external: ['node:*'],
      target: 'es2022',
      // Function names stay, for the stacks of errors.
      minify: true,
      keepNames: true,
      define: { 'Number.POSITIVE_INFINITY': 'Infinity' }, // shorter
      lineLimit: 1000,
      legalComments: 'none',
      logLevel: 'warning',
    });
  }
  writeTypes(folder);
  copyFileSync(join(client, 'README.md'), join(folder, 'README.md'));
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(publishedManifest(client), null, 2)}\n`);
}

/** Writes the declarations of each entry as CommonJS, which modules of both formats can import. */
function writeTypes(folder) {
  const declared = mkdtempSync(join(tmpdir(), 'hub-client-types-'));
  try {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    // `npm run types` checks the types.
    const args = [tsc, '-p', join(client, 'tsconfig.build.json'), '--noCheck', '--outDir', declared];
    execFileSync(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    for (const entry of ENTRIES) {
      writeFileSync(join(folder, `${entry}.d.cts`), declarationsFor(entry, declared));
      writeFileSync(join(folder, `${entry}.d.ts`), `export * from './${entry}.cjs';\n`);
    }
  } finally {
    rmSync(declared, { recursive: true });
  }
}

/** The declarations of an entry and of all modules that it imports; only the entry's exports are exported. */
function declarationsFor(entry, declared) {
  const modules = new Map();
  const add = (name) => {
    if (modules.has(name)) return;
    const text = readFileSync(join(declared, `${name}.d.ts`), 'utf8');
    modules.set(name, text);
    for (const [, imported] of text.matchAll(/\bfrom '(\.[\w./-]+)\.ts'/g))
      add(join(dirname(name), imported));
  };
  add(entry);
  const parts = [...modules].map(([name, text]) => {
    const own = text
      .replace(/^import .+;\n/gm, '')
      .replace(/^(?: {4})+/gm, (indent) => '\t'.repeat(indent.length / 4))
      .replace(/^(export (?:type )?\{.+\}) from .+;\n/gm, '$1;\n');
    return name === entry ? own : own.replace(/^export (?:(?:type )?\{.*\};\n)?/gm, '');
  });
  return parts.join('');
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('usage: node scripts/release/build-client.js FOLDER');
  buildClient(folder);
}
