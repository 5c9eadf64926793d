// What other programs see of a hub's processes: no secret from a file or of the hub's own.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { start } from '../spawn-hubctl.ts';

const SERVE = ['serve', '--port', '0', '--rpc-port', '0'];

describe('the processes of a hub', () => {
  let dataDir: string;
  let child: ChildProcess | undefined;
  before(function () {
    if (process.platform !== 'linux') this.skip(); // there is no /proc
  });
  beforeEach(async () => {
    dataDir = await makeDataDir();
  });
  afterEach(async () => {
    if (child !== undefined && child.exitCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    await discard(dataDir);
  });

  async function serve(env: Record<string, string>): Promise<Shown[]> {
    const started = start(SERVE, { HUB_DATA_DIR: dataDir, ...env });
    child = started;
    let printed = '';
    for (const stream of [started.stdout, started.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    }
    await until(() => /hub is ready/.test(printed) || started.exitCode !== null, 'the hub is ready', 60_000);
    expect(printed).to.contain('hub is ready');
    return shownBy(started.pid ?? 0, dataDir);
  }

  it('never show the password of the embedded PostgreSQL in a command line or environment', async () => {
    const shown = await serve({});
    const home = await realpath(join(dataDir, 'postgres'));
    const password = await readFile(join(home, 'password'), 'utf8');
    expect(shown.filter(({ program }) => program.includes('postgres')).length).to.be.greaterThan(3);
    expect(shown.map(({ text }) => text).join('\n')).not.to.contain(password);
  });

  it('never show an address that is in a file', async () => {
    const databaseUrl = await createMigratedDatabase();
    const file = join(dataDir, 'database-url');
    await writeFile(file, `${databaseUrl}\n`, { mode: 0o600 });
    const shown = await serve({
      DATABASE_URL_FILE: file,
      HUB_TEST_POSTGRES: '',
      HUB_TEST_POSTGRES_TEMPLATE: '',
    });
    const all = shown.map(({ text }) => text).join('\n');
    expect(all).to.contain(`DATABASE_URL_FILE=${file}`).and.not.contain(new URL(databaseUrl).password);
  });
});

type Shown = { readonly program: string; readonly text: string };

/** Arguments and environment of a process, of all that it started, and of the servers of a cluster, which have no parent. */
async function shownBy(root: number, dataDir?: string): Promise<Shown[]> {
  const cluster = dataDir && (await realpath(join(dataDir, 'postgres/data')).catch(() => undefined));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const processes = await Promise.all(
    pids.map(async (pid) => {
      const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'latin1').catch(() => ''); // it has ended
      const [status, cmdline, environ] = await Promise.all([
        read('status'),
        read('cmdline'),
        read('environ'),
      ]);
      const parent = Number(/^PPid:\t(\d+)/m.exec(status)?.[1]);
      const serves =
        cluster !== undefined && (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === cluster;
      const words = cmdline.split('\0');
      const text = `${words.join(' ')}\n${environ.replaceAll('\0', '\n')}`;
      return { pid, parent, serves, program: words[0] ?? '', text };
    }),
  );
  const isOurs = ({ pid, parent, serves }: (typeof processes)[number]): boolean =>
    pid === root || serves || processes.some((other) => other.pid === parent && isOurs(other));
  return processes.filter(isOurs);
}
