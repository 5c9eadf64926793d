// Loads the master keys, and checks that they are those of the database.
import { link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ClientBase, Pool } from 'pg';
import { codeOf, undefinedIfMissing } from '../../../lib/caught-error.ts';
import { sweepDrafts, withDraft } from '../../../lib/files/draft-file.ts';
import { shellQuote } from '../../../lib/files/secret-file.ts';
import type { Clock } from '../../clock.ts';
import type { Secret } from '../../secret.ts';
import type { DataDir } from '../data-dir.ts';
import { inTransaction } from '../sql/transaction.ts';
import { createMasterKeyFile, loadMasterKeyFile, type MasterKey, readMasterKeys } from './key-ring-file.ts';

export type MasterKeySource = {
  /** The keys themselves, as HUB_MASTER_KEY gives them. */
  readonly text?: Secret<string> | undefined;
  /** A file of keys, as HUB_MASTER_KEY_FILE names it. */
  readonly file?: string | undefined;
};

export type KeyRing = { readonly keys: MasterKey[]; readonly createdFile: string | undefined };

/**
 * Loads the configured keys, or those in the data directory, where the first start creates one.
 * @throws Error that names the file or the variable, and never shows a key
 */
export async function loadKeyRing(source: MasterKeySource, dataDir: DataDir): Promise<KeyRing> {
  if (source.text !== undefined || source.file !== undefined) {
    return { keys: existingKeys(source, dataDir), createdFile: undefined };
  }
  const own = dataDir.masterKeyFile;
  await sweepDrafts(dirname(own)); // a draft of the key ring is as secret as the ring
  const kept = loadIfThere(own);
  if (kept) return { keys: kept, createdFile: undefined };
  const created = await makeFile(own);
  return { keys: loadMasterKeyFile(own), createdFile: created ? own : undefined };
}

/** The same without creating a key. @throws Error also if there are no keys */
export function existingKeys({ text, file }: MasterKeySource, { masterKeyFile }: DataDir): MasterKey[] {
  if (text !== undefined) return readMasterKeys(text.reveal(), 'HUB_MASTER_KEY');
  const path = file ?? masterKeyFile;
  const keys = loadIfThere(path);
  if (keys) return keys;
  throw new Error(`there is no master key file ${path}: correct HUB_MASTER_KEY_FILE`);
}

function loadIfThere(path: string): MasterKey[] | undefined {
  try {
    return loadMasterKeyFile(path);
  } catch (error) {
    return undefinedIfMissing(error);
  }
}

/**
 * Gives the hub of a data directory these keys: creates the key file, or checks that the hub has all of them.
 * `undo` removes a file that was created.
 *
 * @throws Error if the hub has other keys: it could not open secrets that are sealed with these
 */
export async function installKeyRing(
  source: MasterKeySource,
  dataDir: DataDir,
  keys: MasterKey[],
): Promise<{ createdFile: string | undefined; undo(): Promise<void> }> {
  const file = source.file ?? dataDir.masterKeyFile;
  if (source.text === undefined && (await makeFile(file, keys))) {
    return { createdFile: file, undo: () => rm(file, { force: true }) };
  }
  const kept = existingKeys(source, dataDir);
  const missing = keys.find(({ id }) => !kept.some((key) => key.id === id));
  if (missing === undefined) return { createdFile: undefined, undo: async () => {} };
  throw new Error(
    source.text === undefined
      ? `${file} has other master keys than the backup. ` +
          `Move it away: mv ${shellQuote(file)} ${shellQuote(`${file}.old`)}`
      : `HUB_MASTER_KEY has other master keys than the backup: without it, restore makes a file of ` +
          `the backup's keys`,
  );
}

/** Returns false if another hub was first. The file gets its name when it is complete. */
async function makeFile(path: string, keys?: MasterKey[]): Promise<boolean> {
  try {
    await withDraft(path, async (draft) => {
      await createMasterKeyFile(draft, keys);
      await link(draft, path);
    });
    await using directory = await open(dirname(path), 'r');
    await directory.sync();
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Stores the id of this hub's sealing key in the database. From then on, every other hub must have the key:
 * otherwise two hubs would seal with different keys, and neither could open the other's secrets.
 */
export async function claimDatabase(pool: Pool, keys: readonly MasterKey[], clock: Clock): Promise<void> {
  await inTransaction(pool, async (client) => {
    // Hubs that start at the same time take turns.
    await client.query('lock table master_key_use in share row exclusive mode');
    await checkKeyRing(client, keys);
    await client.query('insert into master_key_use (key_id, since) values ($1, $2) on conflict do nothing', [
      keys[0]?.id,
      clock(),
    ]);
  });
}

/** @throws Error if secrets in this database are sealed with a key that is not in the ring */
export async function checkKeyRing(db: Pool | ClientBase, keys: readonly MasterKey[]): Promise<void> {
  const ids = keys.map((key) => key.id);
  const { rows } = await db.query<{ keyId: string }>(
    'select key_id as "keyId" from master_key_use order by since, key_id',
  );
  const missing = rows.map((row) => row.keyId).find((id) => !ids.includes(id));
  if (missing === undefined) return;
  throw new Error(
    `the secrets in this database are encrypted with master key ${missing}, and this hub has ` +
      `${ids.join(', ')}: ` +
      'set HUB_MASTER_KEY_FILE to the master.key of the hub that created the database',
  );
}
