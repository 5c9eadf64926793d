// Where the master keys come from, and the check that they are those of this database.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import type { DataDir } from './data-dir.ts';
import { createMasterKeyFile, loadMasterKeyFile, type MasterKey, readMasterKeys } from './master-key.ts';

export type MasterKeySource = {
  /** The keys themselves, as HUB_MASTER_KEY gives them. */
  readonly text?: string | undefined;
  /** A file of keys, as HUB_MASTER_KEY_FILE names it. */
  readonly file?: string | undefined;
};

export type KeyRing = { readonly keys: MasterKey[]; readonly createdFile: string | undefined };

/** The keys that are configured; else those in the data directory, where a first start makes one. */
export async function loadKeyRing({ text, file }: MasterKeySource, dataDir: DataDir): Promise<KeyRing> {
  if (text !== undefined) return { keys: readMasterKeys(text, 'HUB_MASTER_KEY'), createdFile: undefined };
  if (file !== undefined) return { keys: await loadMasterKeyFile(file), createdFile: undefined };
  const own = dataDir.masterKeyFile;
  const created = await createMasterKeyFile(own).then(
    () => true,
    (error) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  return { keys: await loadMasterKeyFile(own), createdFile: created ? own : undefined };
}

/**
 * The first hub on a database notes its master key there; every later one has to have it.
 * Otherwise two hubs would seal with different keys, and each would find secrets it cannot open.
 */
export async function claimDatabase(pool: Pool, keys: readonly MasterKey[], clock: Clock): Promise<void> {
  // The row that is there decides, whoever wrote it first.
  await pool.query(
    `insert into master_key_use (key_id, since) select $1, $2 where not exists (select from master_key_use)
     on conflict do nothing`,
    [keys[0]?.id, clock()],
  );
  await checkKeyRing(pool, keys);
}

/** @throws Error if the secrets in this database are sealed with a key that is not in the ring. */
export async function checkKeyRing(pool: Pool, keys: readonly MasterKey[]): Promise<void> {
  const ids = keys.map((key) => key.id);
  const { rows } = await pool.query<{ keyId: string }>(
    'select key_id as "keyId" from master_key_use order by since, key_id',
  );
  const missing = rows.map((row) => row.keyId).find((id) => !ids.includes(id));
  if (missing === undefined) return;
  throw new Error(
    `the secrets in this database are sealed with master key ${missing}, and this hub has ${ids.join(', ')}: ` +
      'set HUB_MASTER_KEY_FILE to the master.key of the hub that made the database',
  );
}
