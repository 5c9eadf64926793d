// Loads an archive of a hub's data into tables that are there and empty, all of it or nothing.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ClientBase } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { openArchive } from './pg-archive.ts';

/** What was loaded; for each table its rows. */
export type Loaded = { readonly tables: number; readonly rows: number };

/**
 * Reads the archive to its end.
 *
 * @param into The transaction to load it in; without one it is only counted.
 * @param skip Tables, with their schema, whose rows are passed over.
 */
export async function loadArchive(
  dump: AsyncIterable<Buffer>,
  into: ClientBase | undefined,
  skip: readonly string[] = [],
): Promise<Loaded> {
  const { entries, tables } = await openArchive(dump);
  const counts = { tables: 0, rows: 0 };
  for await (const { entry, data } of tables) {
    if (entry.kind !== 'TABLE DATA')
      throw new Error(`the dump in it has rows for ${entry.name}, which is no table`);
    const rows = countRows(data, counts);
    counts.tables++;
    if (into === undefined || skip.includes(`${entry.schema}.${entry.name}`)) for await (const _ of rows);
    else await pipeline(Readable.from(rows), into.query(copyFrom(entry.copy)));
  }
  const expected = entries.filter(({ kind }) => kind === 'TABLE DATA').length;
  if (counts.tables !== expected)
    throw new Error(`the dump in it has ${counts.tables} of ${expected} tables`);
  for (const entry of entries) {
    if (into !== undefined && entry.kind === 'SEQUENCE SET') await into.query(entry.statement);
  }
  return counts;
}

/** COPY's text format has one line for each row; the last line, which says that it is the last, is not passed on. */
async function* countRows(chunks: AsyncIterable<Buffer>, counts: { rows: number }): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    if (chunk.length === END.length && chunk.equals(END)) continue;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) counts.rows++;
    yield chunk;
  }
}

const NEWLINE = 0x0a;
const END = Buffer.from('\\.\n\n\n');
