// Inserts any number of rows by COPY. It generates rows while it sends them, so memory use stays constant.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from } from 'pg-copy-streams';

/** The value of a column: null for SQL null, bytes for bytea, an object for jsonb, a Date for timestamptz. */
export type Field = string | number | boolean | bigint | null | Buffer | Date | Record<string, unknown>;

/** Rows are sent in chunks of this many characters. */
const PIECE = 64 * 1024;

/** `columns` is the column list for COPY, separated by commas. Every row has a value for each column. */
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

/** COPY's text format: https://www.postgresql.org/docs/current/sql-copy.html */
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
