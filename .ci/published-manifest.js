// The manifest of a package that is published: without what only a checkout needs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * Who installs a package brings a Node.js; the checkout pins its own.
 *
 * @param folder where the package's manifest is
 */
export function publishedManifest(folder = root) {
  const {
    private: _,
    scripts: _s,
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
