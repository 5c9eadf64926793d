// Builds the console's files from console/app: for the published package, and on demand for a hub in a checkout.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, stop } from 'esbuild';
import { licensesOf } from '../scripts/release/licenses.ts';

const ROOT = join(import.meta.dirname, '..');
const APP = join(import.meta.dirname, 'app');

/** Returns the files by name. Script and style names contain a hash of their content. Builds are reproducible. */
export async function buildConsole(): Promise<Map<string, Uint8Array>> {
  try {
    const { outputFiles, metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: ['main.tsx', 'style.css', 'icon.svg'].map((name) => join(APP, name)),
      entryNames: '[name]-[hash]',
      outdir: 'console',
      loader: { '.svg': 'copy' },
      bundle: true,
      minify: true,
      format: 'esm',
      target: ['chrome123', 'firefox121', 'safari17.5'],
      jsx: 'automatic',
      jsxImportSource: 'preact',
      legalComments: 'none', // LICENSES.txt contains them
      metafile: true,
      write: false,
      logLevel: 'silent', // errors are thrown
    });
    const files = new Map(outputFiles.map(({ path, contents }) => [nameOf(path), contents]));
    const page = await readFile(join(APP, 'index.html'), 'utf8');
    files.set('index.html', encode(withNames(page, [...files.keys()])));
    files.set('LICENSES.txt', encode(await licensesOf('The console', Object.keys(metafile.inputs))));
    return files;
  } finally {
    await stop(); // ends the process of esbuild
  }
}

function nameOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

/** The page with the hashed file names of this build. */
function withNames(page: string, names: readonly string[]): string {
  return names.reduce((text, name) => text.replaceAll(name.replace(/-[A-Z0-9]{8}\./, '.'), name), page);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name the folder to write into: node console/build.ts FOLDER');
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of await buildConsole()) await writeFile(join(folder, name), bytes);
}
