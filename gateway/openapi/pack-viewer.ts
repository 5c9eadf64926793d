// Packs Swagger UI into the files of the reference page: one script and one style sheet.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, gzipSync } from 'node:zlib';

/** File names in `folder`, without `.gz`. */
export type Viewer = { readonly script: string; readonly style: string };

/** Writes the files and removes the previous ones. */
export function packViewer(folder: URL): Viewer {
  const { script, style } = viewerTexts();
  const names = { script: nameOf(script, 'js'), style: nameOf(style, 'css') };
  const files = { [`${names.script}.gz`]: script, [`${names.style}.gz`]: style };
  for (const name of readdirSync(folder)) {
    if (name.startsWith('viewer-') && !(name in files)) rmSync(new URL(name, folder));
  }
  for (const [name, text] of Object.entries(files)) {
    const file = new URL(name, folder);
    // The name contains a hash of the content. An existing file stays: zlib output differs between machines.
    if (!existsSync(file)) writeFileSync(file, gzipSync(text, { level: constants.Z_BEST_COMPRESSION }));
  }
  writeFileSync(new URL('LICENSES.txt', folder), licenses());
  return names;
}

/** Contents of the files. */
export function viewerTexts(): Viewer {
  return {
    script: `${packaged('swagger-ui-bundle.js')}\n${own('page.js')}`,
    // The source map is not served.
    style: `${packaged('swagger-ui.css')
      .replace(/\/\*# sourceMappingURL=.*?\*\//, '')
      .trim()}\n${own('page.css')}`,
  };
}

/** The HTML page, which refers to script and style sheet by name. */
export function pageOf({ script, style }: Viewer): string {
  return own('index.html').replace('{{script}}', script).replace('{{style}}', style);
}

const INSTALLED = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));

function packaged(name: string): string {
  return readFileSync(join(INSTALLED, name), 'utf8');
}

function own(name: string): string {
  return readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');
}

function nameOf(text: string, extension: string): string {
  return `viewer-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.${extension}`;
}

/** The license of Swagger UI and of its bundled dependencies must be distributed with it. */
function licenses(): string {
  const { version } = JSON.parse(packaged('package.json'));
  const texts = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt'].map(packaged);
  return [`The viewer is Swagger UI ${version}.\n`, ...texts].join('\n');
}
