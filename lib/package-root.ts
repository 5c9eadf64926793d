// The folder of this package, which has the same layout in a checkout, in the published package and in an image.
import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';

/** Finds files of the package from any module, because a bundle puts the modules of many folders into one file. */
export function packageRoot(): string {
  const manifest = findPackageJSON(import.meta.url);
  if (manifest === undefined) throw new Error('the hub is not inside its package');
  return dirname(manifest);
}
