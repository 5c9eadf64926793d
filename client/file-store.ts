// hubctl-client/file-store: stores the record in a file. The only module of the client that requires Node.js.
import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { LicenseStore } from './state/store.ts';

/** Writing a draft takes less, so an older draft belongs to a process that was killed. */
const STALE_MS = 60_000;

/**
 * Stores the record in a file of mode 0600. Replaces it atomically (write, fsync, rename). Creates a missing directory
 * with mode 0700.
 *
 * @param path for example `join(app.getPath('userData'), 'license')`
 */
export function createFileStore(path: string): LicenseStore {
  const file = resolve(path);
  let swept: Promise<void> | undefined;
  return {
    async load() {
      swept ??= removeStaleDrafts(file);
      await swept;
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },

    async save(text) {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const draft = `${file}.${randomUUID()}.draft`; // other processes may save at the same time
      try {
        const handle = await open(draft, 'wx', 0o600);
        try {
          await handle.writeFile(text);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(draft, file);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },

    clear: () => rm(file, { force: true }),
  };
}

const DRAFT_END = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.draft$/;

/** Removes drafts of killed processes, because a draft contains the license key. */
async function removeStaleDrafts(file: string): Promise<void> {
  try {
    const [folder, name] = [dirname(file), basename(file)];
    for (const entry of await readdir(folder)) {
      if (!entry.startsWith(name) || !DRAFT_END.test(entry.slice(name.length))) continue;
      const { mtimeMs } = await stat(join(folder, entry));
      if (Math.abs(Date.now() - mtimeMs) > STALE_MS) await rm(join(folder, entry), { force: true });
    }
  } catch {
    // A draft that remains does no harm, and load() reports an unreadable file.
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
