// The version of this package.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';

/** Semantic version, for example `0.1.0`. */
export function packageVersion(): string {
  const manifest = readFileSync(join(packageRoot(), 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string }; // every package.json has one
  return version;
}
