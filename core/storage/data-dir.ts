// The data directory: what one hub keeps on its machine, and what hubctl finds there.
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a running hub tells about itself, for hubctl. */
export type HubFile = { readonly pid: number; readonly gateway?: string; readonly rpc?: string };

export type DataDir = {
  readonly path: string;
  readonly masterKeyFile: string;
  /** The token, or undefined if there is none that only its owner can read. */
  readAdminToken(): Promise<string | undefined>;
  writeAdminToken(token: string): Promise<void>;
  announce(hub: HubFile): Promise<void>;
  /** Takes the announcement of this process back. */
  withdraw(): Promise<void>;
};

/** Makes the directory if it is missing. Secrets in it are files of mode 0600. */
export async function openDataDir(path: string): Promise<DataDir> {
  // Under root the embedded PostgreSQL runs as another user, who has to pass through; nobody else can list it.
  const mode = process.geteuid?.() === 0 ? 0o711 : 0o700;
  await mkdir(path, { recursive: true, mode }).catch((error) => {
    const remedy = 'choose another with --data-dir or HUB_DATA_DIR';
    throw new Error(`the data directory ${path} cannot be made (${error.code}): ${remedy}`, { cause: error });
  });
  const hubFile = join(path, 'hub.json');
  const adminTokenFile = join(path, 'admin-token');
  return {
    path,
    masterKeyFile: join(path, 'master.key'),
    async readAdminToken() {
      const token = await readIfThere(adminTokenFile);
      // What others could read is no secret any more: as good as none.
      return token !== undefined && !(await isOpen(adminTokenFile)) ? token.trim() : undefined;
    },
    writeAdminToken: (token) => replace(adminTokenFile, `${token}\n`),
    announce: (hub) => replace(hubFile, `${JSON.stringify(hub)}\n`),
    async withdraw() {
      const text = await readIfThere(hubFile);
      if (text !== undefined && JSON.parse(text).pid === process.pid) await rm(hubFile, { force: true });
    },
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function isOpen(path: string): Promise<boolean> {
  return ((await stat(path)).mode & 0o077) !== 0;
}

/** Whoever reads the file sees the old content or the new, never half of it. */
async function replace(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, content, { mode: 0o600 });
  await rename(temporary, path);
}
