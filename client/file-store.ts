// hubctl/client/file-store: keeps the record in a file. The only part of the client that needs Node.js.
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { LicenseStore } from './store.ts';

/**
 * A file that only its user can read (0600), written anew and renamed, so that it is the old or the new one whatever
 * happens meanwhile. Its directory is made if it is missing (0700).
 *
 * @param path such as `join(app.getPath('userData'), 'license')`
 */
export function createFileStore(path: string): LicenseStore {
  const file = resolve(path);
  return {
    async load() {
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },

    async save(text) {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const draft = `${file}.${randomUUID()}`;
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

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
