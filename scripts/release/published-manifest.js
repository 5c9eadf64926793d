// Reads the manifest of a package without the members that only a checkout needs. The packages contain their dependencies.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/**
 * Leaves out the pinned Node.js, because packages run on the installed one.
 *
 * @param folder contains package.json
 */
export function publishedManifest(folder = root) {
  const {
    private: _,
    scripts: _s,
    dependencies: _b,
    devDependencies: _d,
    allowScripts: _a,
    optionalDependencies: all,
    ...manifest
  } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const optional = Object.entries(all ?? {}).filter(([name]) => !/^node-/.test(name));
  return {
    ...manifest,
    ...(all && { optionalDependencies: Object.fromEntries(optional) }),
    publishConfig: { access: 'public', provenance: true },
  };
}
