// The program as the package contains it, for the processes that a test run starts.
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeProgram } from '../../../scripts/release/bundle-program.ts';
import { PROGRAM_VARIABLE } from './hub-process.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Builds the program and names it in the environment of this process. Returns a function that removes it. */
export async function buildProgram(): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'hub-program-'));
  await chmod(directory, 0o755); // some tests run it as another user
  const folder = join(directory, 'hubctl');
  await writeProgram(folder);
  // For the embedded PostgreSQL, the pinned Node.js, and the console, which a hub builds on demand.
  for (const name of ['node_modules', 'console']) await symlink(join(ROOT, name), join(folder, name));
  const variables = {
    [PROGRAM_VARIABLE]: join(folder, 'cli/hubctl.js'),
    // The compile cache would keep the code of each run.
    XDG_CACHE_HOME: join(directory, 'cache'),
  };
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return async () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    await rm(directory, { recursive: true, force: true });
  };
}
