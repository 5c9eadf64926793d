// The manifest of the package that is published: without what only a checkout needs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Who installs the package brings a Node.js; the checkout pins its own. */
export function publishedManifest() {
  const {
    private: _,
    scripts: _s,
    devDependencies: _d,
    allowScripts: _a,
    ...manifest
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const optional = Object.entries(manifest.optionalDependencies).filter(([name]) => !/^node-/.test(name));
  return {
    ...manifest,
    optionalDependencies: Object.fromEntries(optional),
    publishConfig: { access: 'public', provenance: true },
  };
}
