// A vendor's project with the published client package.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc');
const run = promisify(execFile);

export type VendorProject = AsyncDisposable & {
  readonly path: string;
  /** Where the package lies in it. */
  readonly packagePath: string;
  write(name: string, text: string): Promise<void>;
  /** What the compiler complains about; empty if it does not. */
  compile(options: object, file: string, compiler?: string): Promise<string>;
};

/** `install`: by `npm pack` and `npm install`, which leave out what is not to be published. Otherwise it is built in place. */
export async function createVendorProject({ install = false } = {}): Promise<VendorProject> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-vendor-'));
  const [built, path] = [join(folder, 'built'), join(folder, 'project')];
  const packagePath = join(path, 'node_modules/hubctl-client');
  const write = (name: string, text: string) => writeFile(join(path, name), text);
  await mkdir(path);
  await write('package.json', '{"private":true,"type":"module"}');
  await run(process.execPath, [join(ROOT, 'scripts/release/build-client.js'), install ? built : packagePath]);
  if (install) {
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: built });
    const [{ filename }] = JSON.parse(stdout);
    // Nothing but the tarball is there to be installed from.
    const options = ['--offline', '--no-audit', '--no-fund', '--cache', join(folder, 'cache')];
    await run('npm', ['install', ...options, join(built, filename)], { cwd: path });
  }
  return {
    path,
    packagePath,
    write,
    async compile(options, file, compiler = COMPILER) {
      const compilerOptions = { strict: true, noEmit: true, target: 'es2022', ...options };
      await write('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }));
      return run(process.execPath, [compiler, '-p', path], { cwd: path }).then(
        () => '',
        ({ stdout: complaints }) => complaints,
      );
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
