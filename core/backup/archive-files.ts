// Files of a backup archive, in order: manifest.json, master.key, the rows of the tables, totals.json.
import type { TableEntry } from './manifest.ts';

export const MANIFEST_FILE = 'manifest.json';
export const KEY_RING_FILE = 'master.key';
export const TOTALS_FILE = 'totals.json';

/** The maximum size of each of these three files. */
export const SMALL_BYTES = 1024 * 1024;

/**
 * The size of one part of a large table. A tar archive stores the size of a file before its content, so each
 * part is collected in memory first.
 */
export const PART_BYTES = 4 * 1024 * 1024;

/** The file with the rows of a table that fits into one part. */
export function rowsFile({ schema, name }: Pick<TableEntry, 'schema' | 'name'>): string {
  return `data/${schema}.${name}.copy`;
}

/** The file with one part of the rows of a larger table. @param number from 1 */
export function partFile(table: Pick<TableEntry, 'schema' | 'name'>, number: number): string {
  return `${rowsFile(table)}.${String(number).padStart(5, '0')}`;
}

const NEWLINE = 0x0a;

/** COPY's text format has one line for each row, and writes a newline in a value as `\n`. */
export function countRows(chunk: Buffer): number {
  let rows = 0;
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) rows++;
  return rows;
}

/** Passes the chunks on. `count` returns the number of rows in the chunks so far. */
export function countedRows(rows: AsyncIterable<Buffer>): {
  readonly chunks: AsyncIterable<Buffer>;
  readonly count: () => number;
} {
  let count = 0;
  const chunks = async function* () {
    for await (const chunk of rows) {
      count += countRows(chunk);
      yield chunk;
    }
  };
  return { chunks: chunks(), count: () => count };
}

/** The chunks of a stream of the tar library, whose types do not declare them as bytes. */
export async function* bytesOf(source: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    if (!(chunk instanceof Uint8Array)) throw new Error('a stream of bytes holds something else');
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
}
