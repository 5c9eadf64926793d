// COPY of any number of rows: they are made while they are sent, and memory stays flat.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from } from 'pg-copy-streams';

/** Null is the SQL null; bytes are bytea; an object is jsonb; a Date a timestamptz. */
export type Field = string | number | boolean | bigint | null | Buffer | Date | Record<string, unknown>;

/** Rows go out in pieces of so many characters. */
const PIECE = 64 * 1024;

/** `columns` as COPY wants them, by commas; every row has a field for each. */
export async function copyRows(
  client: Client,
  table: string,
  columns: string,
  rows: Iterable<readonly Field[]>,
): Promise<void> {
  const sink = client.query(from(`copy ${table} (${columns}) from stdin`));
  await pipeline(Readable.from(pieces(rows), { objectMode: true, highWaterMark: 2 }), sink);
}

function* pieces(rows: Iterable<readonly Field[]>): Generator<string> {
  let piece = '';
  for (const row of rows) {
    piece += `${row.map(textOf).join('\t')}\n`;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** COPY's text form: https://www.postgresql.org/docs/current/sql-copy.html */
function textOf(field: Field): string {
  if (field === null) return '\\N';
  if (typeof field === 'string') return escaped(field);
  if (Buffer.isBuffer(field)) return `\\\\x${field.toString('hex')}`;
  if (field instanceof Date) return field.toISOString();
  return typeof field === 'object' ? escaped(JSON.stringify(field)) : String(field);
}

function escaped(text: string): string {
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (each) => ESCAPES[each] ?? each) : text;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
