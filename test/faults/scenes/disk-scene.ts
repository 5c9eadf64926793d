// Two hubs on a PostgreSQL whose data is on a small disk that fills up.
import { chmod, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { runCommand } from '../../../core/storage/embedded-postgres/run-command.ts';
import { makeDataDir } from '../../support/hub/data-dir.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { startCluster } from './cluster.ts';
import { type PostgresServer, startServer } from './postgres-server.ts';
import type { Fault, Scene, Stage } from './scene.ts';

const DISK_MB = 160;

type DiskStage = Stage & { readonly postgres: PostgresServer; readonly disk: string };

const DISK_FULL: Fault<DiskStage> = {
  name: 'postgres-disk-full',
  what: "PostgreSQL's disk is full: no row can be added, then no commit be written, and it goes down (`PANIC`)",
  outage: 'database',
  async strike({ disk, postgres }, ms) {
    const filler = join(disk, 'filler');
    await fill(filler);
    await pause(ms / 2);
    await wasteLog(postgres.url);
    await pause(ms / 2);
    await rm(filler);
    await until(() => takesRequests(postgres), 'PostgreSQL takes requests', 30_000).catch(async (error) => {
      const log = await readFile(join(disk, 'postgres/data/server.log'), 'utf8');
      throw new Error(`${error.message}:\n${log.slice(-2_000)}`, { cause: error });
    });
  },
};

export const DISK_SCENE: Scene<DiskStage> = {
  needs: 'root on Linux, to mount a small disk',
  faults: [DISK_FULL],
  open: openDisk,
};

async function openDisk(): Promise<DiskStage | undefined> {
  await using undo = new AsyncDisposableStack();
  const directory = await makeDataDir();
  undo.defer(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o711); // PostgreSQL runs as another user
  const disk = join(directory, 'disk');
  const { ok } = await runCommand('mount', ['-m', '-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', disk]);
  if (!ok) return undefined;
  undo.defer(async () => void (await runCommand('umount', [disk])));
  const postgres = await startServer(disk);
  undo.defer(() => postgres.kill());
  const cluster = await startCluster({ hubs: 2, databaseUrl: postgres.url });
  undo.defer(() => cluster.stop());
  const resources = undo.move();
  return { cluster, postgres, disk, close: () => resources.disposeAsync() };
}

/**
 * Restarts it like a supervisor if it has exited, since its recovery may have failed for lack of disk space.
 */
async function takesRequests(postgres: PostgresServer): Promise<boolean> {
  try {
    await postgres.start();
    await query(postgres.url, 'select');
    return true;
  } catch {
    return false;
  }
}

async function fill(path: string): Promise<void> {
  const block = Buffer.alloc(64 * 1024);
  await using file = await open(path, 'w');
  for (;;) {
    try {
      await file.write(block);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
      throw error;
    }
  }
}

/** Uses up the existing log segments until PostgreSQL needs one that does not fit. */
async function wasteLog(url: string): Promise<void> {
  try {
    const [row] = await query<{ bytes: string }>(
      url,
      "select pg_size_bytes(current_setting('wal_segment_size')) as bytes",
    );
    for (let wasted = 0; wasted < 2e6 * DISK_MB; wasted += Number(row?.bytes)) {
      await query(url, "select pg_logical_emit_message(true, 'waste', 'of space'), pg_switch_wal()");
    }
  } catch {
    return; // the server is down
  }
  throw new Error('PostgreSQL writes on although its disk is full');
}
