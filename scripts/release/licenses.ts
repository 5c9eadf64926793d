// The license texts of packages that are part of a bundle.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly author?: string | { readonly name: string };
};

/**
 * The name, version and license text of all packages in a bundle.
 *
 * @param what The subject of the first line.
 * @param inputs The paths of the bundled files, relative to the repository.
 */
export async function licensesOf(what: string, inputs: readonly string[]): Promise<string> {
  const packages = new Set(
    inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? []),
  );
  const texts = [...packages].sort().map(async (folder) => {
    const manifest: Manifest = JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8'));
    const file = (await readdir(join(ROOT, folder))).find((each) => /^licen[sc]e/i.test(each));
    const text = file ? (await readFile(join(ROOT, folder, file), 'utf8')).trim() : '';
    return `${manifest.name} ${manifest.version} (${manifest.license})\n\n${text || textOf(manifest)}`;
  });
  return `${what} contains third-party software:\n\n${(await Promise.all(texts)).join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** The license text of a package that does not contain it. */
function textOf({ name, license, author }: Manifest): string {
  if (license.includes('Apache-2.0')) return APACHE;
  const holder = typeof author === 'object' ? author.name : author;
  if (license === 'MIT' && holder !== undefined) return `Copyright (c) ${holder}\n\n${MIT}`;
  throw new Error(`the package ${name} does not contain the text of its license (${license})`);
}

const APACHE = 'The text of the Apache License 2.0 is the file LICENSE of this hub.';

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
