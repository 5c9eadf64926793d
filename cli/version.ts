// The version of this package.
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** Semantic version, for example `0.1.0`. */
export function packageVersion(): string {
  const file = findPackageJSON(import.meta.url);
  if (file === undefined) throw new Error('hubctl is not inside its package.');
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }; // every package.json has one
  return version;
}
