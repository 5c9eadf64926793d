// A vendor's project with the client in it, compiled as it is published.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
  compile(options: object, file: string): Promise<string>;
};

/**
 * The package has nothing but the client in it: the rest takes long to compile, and is nothing to a vendor. `pack`: by way
 * of `npm pack`, which leaves out what is not to be published.
 */
export async function createVendorProject({ pack = false } = {}): Promise<VendorProject> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-vendor-'));
  const [built, path] = [join(folder, 'built'), join(folder, 'project')];
  const packagePath = join(path, 'node_modules/hubctl');
  await mkdir(built);
  await cp(join(ROOT, 'package.json'), join(built, 'package.json'));
  const config = join(ROOT, 'client/tsconfig.build.json');
  await run(process.execPath, [COMPILER, '-p', config, '--outDir', join(built, 'dist')]);
  await mkdir(packagePath, { recursive: true });
  if (pack) {
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: built });
    const [{ filename }] = JSON.parse(stdout);
    await run('tar', ['-xzf', join(built, filename), '-C', packagePath, '--strip-components', '1']);
  } else await cp(built, packagePath, { recursive: true });

  const write = (name: string, text: string) => writeFile(join(path, name), text);
  await write('package.json', '{"type":"module"}');
  return {
    path,
    packagePath,
    write,
    async compile(options, file) {
      const compilerOptions = { strict: true, noEmit: true, target: 'es2022', ...options };
      await write('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }));
      return run(process.execPath, [COMPILER, '-p', path], { cwd: path }).then(
        () => '',
        ({ stdout: complaints }) => complaints,
      );
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
