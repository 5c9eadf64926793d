// Finds the console's files: a package contains them; a checkout builds them for the first browser.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { codeOf } from '../../lib/caught-error.ts';
import { onDemand } from '../../lib/on-demand.ts';
import { packageRoot } from '../../lib/package-root.ts';

type Build = { buildConsole(): Promise<ReadonlyMap<string, Uint8Array>> };

/** Reads a file by its name; undefined if it does not exist. */
export function consoleFiles(): (name: string) => Promise<Uint8Array | undefined> {
  const root = packageRoot();
  const source = join(root, 'console/build.ts'); // in a checkout; a package contains the result
  if (!existsSync(source)) return (name) => readPackaged(join(root, 'dist/console', name));
  const files = onDemand(async () => {
    const { buildConsole }: Build = await import(pathToFileURL(source).href);
    return buildConsole();
  });
  return async (name) => (await files.get()).get(name);
}

async function readPackaged(file: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
