// The data directory: the files of one hub on its machine, which hubctl reads too.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { undefinedIfMissing } from '../../lib/caught-error.ts';
import { makeDirectory } from '../../lib/files/make-directory.ts';
import { readSecretFile } from '../../lib/files/secret-file.ts';
import { parseObject } from '../../lib/json-object.ts';
import { processPlace } from '../../lib/process-place.ts';

/** The addresses of a running hub, for hubctl. */
export type HubFile = {
  readonly pid: number;
  /** The host and process namespace in which `pid` is valid: see `processPlace`. */
  readonly place: string;
  /** When the process started: see `processStart`. */
  readonly started?: string;
  readonly gateway?: string;
  readonly rpc?: string;
  /** The file with the certificate of the RPC port. */
  readonly rpcCertificate?: string;
};

export type DataDir = Awaited<ReturnType<typeof openDataDir>>;

/** The data directory does not exist and cannot be created. The message says how to choose another. */
export class DataDirError extends Error {
  override readonly name = 'DataDirError';
}

/** Creates the directory if it is missing. Files with secrets have mode 0600. @throws DataDirError */
export async function openDataDir(path: string) {
  // Under root, the embedded PostgreSQL runs as another user, who needs to enter the directory but not to
  // list it.
  const mode = process.geteuid?.() === 0 ? 0o711 : 0o700;
  await makeDirectory(path, mode).catch((error) => {
    const remedy = 'choose another with --data-dir or HUB_DATA_DIR';
    throw new DataDirError(`cannot create the data directory ${path} (${error.code}): ${remedy}`, {
      cause: error,
    });
  });
  const hubFile = join(path, 'hub.json');
  const adminTokenFile = join(path, 'admin-token');
  return {
    path,
    masterKeyFile: join(path, 'master.key'),
    /** The head of the audit chain, stored outside of the database. */
    auditHeadFile: join(path, 'audit-head'),
    /** The token, or undefined if there is none. @throws Error if others can read it: see `readSecretFile` */
    async readAdminToken(): Promise<string | undefined> {
      try {
        return readSecretFile(adminTokenFile, 'admin token file').trim();
      } catch (error) {
        return undefinedIfMissing(error);
      }
    },
    writeAdminToken: (token: string) => replace(adminTokenFile, `${token}\n`),
    announce: (hub: HubFile) => replace(hubFile, `${JSON.stringify(hub)}\n`),
    /** Removes the announcement of this process. Keeps a damaged file: it may be that of another process. */
    async withdraw(): Promise<void> {
      const text = await readFile(hubFile, 'utf8').catch(undefinedIfMissing);
      const { pid, place } = parseObject(text ?? '') ?? {};
      if (pid === process.pid && place === processPlace()) await rm(hubFile, { force: true });
    },
  };
}

/** Replaces a file atomically: readers see the old content or the new. */
async function replace(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, content, { mode: 0o600 });
  await rename(temporary, path);
}
