// Prometheus's metrics checker, if it is installed.
import { spawnSync } from 'node:child_process';
import type { Context } from 'mocha';

/** Runs promtool and returns its output. Without promtool the test is pending. */
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
