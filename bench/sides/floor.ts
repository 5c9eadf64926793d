// The floor: what this machine gives without what is measured.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startChild } from './child.ts';
import type { Side } from './side.ts';

export async function startBareHttp(directory: string, publicKeyPem: string): Promise<Side> {
  const child = await startChild({
    name: 'bare node:http',
    args: [join(import.meta.dirname, '../floor/bare-http.ts')],
    env: { PUBLIC_KEY_PEM: publicKeyPem },
    logFile: join(directory, 'floor.log'),
    readyMark: '"ready"',
  });
  const { port } = JSON.parse(child.ready);
  return { name: 'floor', port, pid: child.pid, warehouse: undefined, stop: () => child.stop() };
}

/** How often a second the statements of a case are done, by clients that do nothing else. */
export async function bareSql(databaseUrl: string, caseName: string, seconds: number): Promise<number> {
  const program = join(import.meta.dirname, '../floor/sql.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program, caseName, String(seconds)], {
    env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: databaseUrl },
  });
  return JSON.parse(stdout).perSecond;
}
