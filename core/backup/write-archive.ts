// Writes a backup: an encrypted tar archive. `age -d FILE | tar x` extracts it without hubctl.
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import tar from 'tar-stream';
import {
  bytesOf,
  countRows,
  KEY_RING_FILE,
  MANIFEST_FILE,
  PART_BYTES,
  partFile,
  rowsFile,
  TOTALS_FILE,
} from './archive-files.ts';
import { encrypt, type PassphraseOptions } from './encryption.ts';
import type { Manifest, TableEntry, Totals } from './manifest.ts';

export type Contents = {
  readonly manifest: Manifest;
  /** The key ring in the format of a master key file. */
  readonly keyRing: string;
  /**
   * The rows of a table in COPY's text format. Called for one table at a time, in the order of the manifest.
   */
  readonly rowsOf: (table: TableEntry) => AsyncIterable<Buffer>;
};

/** Writes and ends `file`. */
export async function writeArchive(
  contents: Contents,
  encryption: PassphraseOptions,
  file: Writable,
): Promise<void> {
  const pack = tar.pack();
  pack.on('error', () => {}); // the pipeline reports it
  const encrypted = await encrypt(bytesOf(pack), encryption);
  const filling = fill(pack, contents).catch((error) => pack.destroy(error));
  await pipeline(Readable.fromWeb(encrypted), file);
  await filling;
}

async function fill(pack: tar.Pack, { manifest, keyRing, rowsOf }: Contents): Promise<void> {
  await addFile(pack, MANIFEST_FILE, json(manifest));
  await addFile(pack, KEY_RING_FILE, Buffer.from(keyRing));
  const rows: number[] = [];
  for (const table of manifest.tables) rows.push(await addTable(pack, table, rowsOf(table)));
  await addFile(pack, TOTALS_FILE, json({ rows } satisfies Totals));
  pack.finalize();
}

/** Returns the number of rows. */
async function addTable(pack: tar.Pack, table: TableEntry, chunks: AsyncIterable<Buffer>): Promise<number> {
  let [rows, parts, size] = [0, 0, 0];
  let pending: Buffer[] = [];
  for await (const chunk of chunks) {
    rows += countRows(chunk);
    if (size >= PART_BYTES) {
      await addFile(pack, partFile(table, ++parts), Buffer.concat(pending));
      [pending, size] = [[], 0];
    }
    pending.push(chunk);
    size += chunk.length;
  }
  await addFile(pack, parts === 0 ? rowsFile(table) : partFile(table, parts + 1), Buffer.concat(pending));
  return rows;
}

function addFile(pack: tar.Pack, name: string, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    // Written to the entry, not passed to `pack.entry`, which would not wait for the reader.
    const entry = pack.entry({ name, size: content.length, mode: 0o600 }, (error) =>
      error ? reject(error) : resolve(),
    );
    entry.end(content);
  });
}

function json(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
}
