// Prometheus's own checker, where it is installed.
import { spawnSync } from 'node:child_process';
import type { Context } from 'mocha';

/** Runs promtool and returns what it said; the test is pending where there is none. */
export function promtool(
  test: Context,
  args: readonly string[],
  input = '',
): { code: number; output: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', [...args], { input, encoding: 'utf8' });
  if (error !== undefined) {
    process.stderr.write('      pending: no promtool: it comes with Prometheus\n');
    return test.skip();
  }
  return { code: status ?? -1, output: `${stdout}${stderr}` };
}
