// Reads a backup. The files in the archive must have the expected names and order.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import tar, { type Header } from 'tar-stream';
import { type MasterKey, readMasterKeys } from '../storage/secrets/key-ring-file.ts';
import {
  bytesOf,
  countedRows,
  KEY_RING_FILE,
  MANIFEST_FILE,
  partFile,
  rowsFile,
  SMALL_BYTES,
  TOTALS_FILE,
} from './archive-files.ts';
import { decrypt } from './encryption.ts';
import { type Manifest, readManifest, readTotals, type TableEntry } from './manifest.ts';
import { show, UnreadableBackup } from './unreadable-backup.ts';

export type Archive = {
  readonly manifest: Manifest;
  readonly keys: MasterKey[];
  /**
   * Calls `load` for each table, which must read all rows; then checks the row counts and the end of the
   * file.
   */
  readTables(load: (table: TableEntry, rows: AsyncIterable<Buffer>) => Promise<void>): Promise<Loaded>;
};

/** Numbers of tables and rows. */
export type Loaded = { readonly tables: number; readonly rows: number };

/**
 * Calls `use` with the archive. The file may still prove to be altered or truncated until `readTables`
 * resolves.
 *
 * @throws UnreadableBackup if the passphrase is wrong, or the file is not a backup, altered, truncated or not
 * written by hubctl
 */
export async function readArchive<T>(
  file: Readable,
  passphrase: string,
  use: (archive: Archive) => Promise<T>,
): Promise<T> {
  const extract = tar.extract();
  const reading = pipeline(Readable.from(decrypt(file, passphrase)), extract).catch((error: unknown) => {
    // The reader of the entries gets the error as well, unless it stopped reading.
    extract.destroy(error instanceof Error ? error : new Error(String(error)));
    return error;
  });
  const cursor = createCursor(extract[Symbol.asyncIterator](), reading);
  try {
    const manifest = readManifest(await cursor.text(MANIFEST_FILE));
    const keys = readMasterKeys(await cursor.text(KEY_RING_FILE), 'the key ring of the backup');
    requireListed(keys, manifest);
    return await use({ manifest, keys, readTables: (load) => readTables(cursor, manifest, load) });
  } catch (error) {
    extract.destroy();
    throw damageOf(await reading) ?? error;
  } finally {
    extract.destroy();
    await reading;
  }
}

/** The damage of the file; undefined if reading stopped for another reason. */
function damageOf(error: unknown): UnreadableBackup | undefined {
  if (error instanceof UnreadableBackup) return error;
  const reason = error instanceof Error ? error.message : '';
  if (!/^(Unexpected end of data|Invalid (tar )?header|Header exceeds)/.test(reason)) return undefined;
  return new UnreadableBackup(`the archive in the backup is incomplete, or not a tar archive (${reason})`, {
    cause: error,
  });
}

async function readTables(
  cursor: Cursor,
  { tables }: Manifest,
  load: Parameters<Archive['readTables']>[0],
): Promise<Loaded> {
  const counts: number[] = [];
  for (const table of tables) {
    const rows = countedRows(cursor.rows(table));
    await load(table, rows.chunks);
    counts.push(rows.count());
  }
  const totals = readTotals(await cursor.text(TOTALS_FILE), tables);
  await cursor.end();
  for (const [index, { schema, name }] of tables.entries()) {
    if (counts[index] === totals.rows[index]) continue;
    throw new UnreadableBackup(
      `the backup has ${counts[index]} rows of table ${show(`${schema}.${name}`)}, ` +
        `and its totals.json says ${totals.rows[index]}`,
    );
  }
  return { tables: tables.length, rows: counts.reduce((sum, count) => sum + count, 0) };
}

function requireListed(keys: readonly MasterKey[], { masterKeyIds }: Manifest): void {
  const ids = keys.map(({ id }) => id);
  if (ids.join() === masterKeyIds.join()) return;
  throw new UnreadableBackup(
    `master.key of the backup has the keys ${ids.join(', ')}, and manifest.json lists ${show(masterKeyIds)}`,
  );
}

type Entry = AsyncIterable<unknown> & { readonly header: Header };

type Cursor = ReturnType<typeof createCursor>;

function createCursor(entries: AsyncIterator<Entry>, reading: Promise<unknown>) {
  let ahead: Promise<IteratorResult<Entry>> | undefined;
  const peek = (): Promise<IteratorResult<Entry>> => {
    ahead ??= entries.next();
    return ahead;
  };
  const take = async (names: readonly string[]): Promise<Entry> => {
    const { done, value } = await peek();
    ahead = undefined;
    const expected = names.join(' or ');
    if (done) throw new UnreadableBackup(`the backup ends where ${expected} belongs`);
    const { name, type } = value.header;
    if (names.includes(name) && type === 'file') return value;
    throw new UnreadableBackup(`the backup has the ${type} ${show(name)} where the file ${expected} belongs`);
  };
  return {
    /** The content of the next file, which has this name and is short. */
    async text(name: string): Promise<string> {
      const entry = await take([name]);
      const size = entry.header.size ?? 0;
      if (size > SMALL_BYTES) {
        throw new UnreadableBackup(`${name} of the backup has ${size} bytes, more than ${SMALL_BYTES}`);
      }
      const chunks: Buffer[] = [];
      for await (const chunk of bytesOf(entry)) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    },
    /** The next file, or files, of this table. */
    async *rows(table: TableEntry): AsyncGenerator<Buffer> {
      const first = await take([rowsFile(table), partFile(table, 1)]);
      yield* bytesOf(first);
      if (first.header.name === rowsFile(table)) return;
      for (let number = 2; ; number++) {
        const { done, value } = await peek();
        if (done || value.header.name !== partFile(table, number)) return;
        yield* bytesOf(await take([partFile(table, number)]));
      }
    },
    /** @throws UnreadableBackup if another file follows, or if the archive is damaged up to its last byte. */
    async end(): Promise<void> {
      const { done, value } = await peek();
      const damage = done ? await reading : undefined;
      if (damage !== undefined) throw damageOf(damage) ?? damage;
      if (!done)
        throw new UnreadableBackup(`the backup has the file ${show(value.header.name)} after its last one`);
    },
  };
}
