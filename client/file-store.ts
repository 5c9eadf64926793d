// hubctl-client/file-store: keeps the record in a file. The only part of the client that needs Node.js.
import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { LicenseStore } from './store.ts';

/** No draft is written for so long, so an older one is of a process that was killed. */
const STALE_MS = 60_000;

/**
 * A file that only its user can read (0600), written anew and renamed, so that it is the old or the new one whatever
 * happens meanwhile. Its directory is made if it is missing (0700).
 *
 * @param path such as `join(app.getPath('userData'), 'license')`
 */
export function createFileStore(path: string): LicenseStore {
  const file = resolve(path);
  let swept: Promise<void> | undefined;
  return {
    async load() {
      swept ??= sweepDrafts(file);
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
      const draft = `${file}.${randomUUID()}.draft`; // one for each, because other processes may be saving, too
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

/** Removes what processes left beside the file that were killed. A draft has the license key in it. */
async function sweepDrafts(file: string): Promise<void> {
  try {
    const [folder, name] = [dirname(file), basename(file)];
    for (const entry of await readdir(folder)) {
      if (!entry.startsWith(name) || !DRAFT_END.test(entry.slice(name.length))) continue;
      const { mtimeMs } = await stat(join(folder, entry));
      if (Math.abs(Date.now() - mtimeMs) > STALE_MS) await rm(join(folder, entry), { force: true });
    }
  } catch {
    // What cannot be swept is in nobody's way; that the file cannot be read is said by reading it.
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
