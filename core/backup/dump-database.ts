// Dumps the data of a hub's database as an archive of pg_dump's custom format, in one snapshot, while hubs go on working.
import type { ClientBase } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { type ArchiveEntry, encodeData, encodeHead } from './pg-archive.ts';

export type TableRef = { readonly schema: string; readonly name: string };

/** Rows are gathered into pieces of this many bytes before they are written. */
const CHUNK_BYTES = 64 * 1024;

/** The archive, piece by piece. To be read inside of a `repeatable read` transaction: that is the snapshot. */
export async function* dumpDatabase(
  client: ClientBase,
  schemas: readonly string[],
  now: Date,
): AsyncGenerator<Buffer> {
  const tables = await readTables(client, schemas);
  const entries: ArchiveEntry[] = [
    ...tables.map(({ schema, name, owner, table, columns }) => ({
      kind: 'TABLE DATA' as const,
      schema,
      name,
      owner,
      copy: `COPY ${table} (${columns}) FROM stdin`,
    })),
    ...(await readSequences(client, schemas)),
  ];
  const { rows } = await client.query<{ database: string; version: string }>(
    `select current_database() as database, current_setting('server_version') as version`,
  );
  yield encodeHead({
    database: rows[0]?.database ?? '',
    serverVersion: rows[0]?.version ?? '',
    createdAt: now,
    entries,
  });
  for (const [index, { table, columns }] of tables.entries()) {
    // Through a query: a partitioned table is dumped as the one table it is, and its rows find their partitions anew.
    const rows = client.query(copyTo(`COPY (SELECT ${columns} FROM ${table}) TO STDOUT`));
    yield* encodeData(index + 1, gather(rows));
  }
}

/** The tables of these schemas, without partitions and what belongs to an extension. */
export async function listTables(client: ClientBase, schemas: readonly string[]): Promise<TableRef[]> {
  const { rows } = await client.query<TableRef>(
    `select n.nspname as schema, c.relname as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where ${IS_TABLE} order by 1, 2`,
    [schemas],
  );
  return rows;
}

const IS_TABLE = `
  c.relkind in ('r', 'p') and not c.relispartition and n.nspname = any ($1)
  and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype = 'e')`;

type Table = TableRef & {
  readonly oid: number;
  readonly owner: string;
  /** Quoted, with its schema. */
  readonly table: string;
  /** Quoted, separated by commas. */
  readonly columns: string;
  /** The tables that rows of this one refer to. */
  readonly needs: readonly number[];
};

/** In an order in which a row's references come before the row. */
async function readTables(client: ClientBase, schemas: readonly string[]): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select c.oid::int8::float8 as oid, n.nspname as schema, c.relname as name, pg_get_userbyid(c.relowner) as owner,
       format('%I.%I', n.nspname, c.relname) as table,
       (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
       (select coalesce(json_agg(confrelid::int8), '[]') from pg_constraint
        where coalesce(pg_partition_root(conrelid), conrelid) = c.oid and contype = 'f' and confrelid <> c.oid) as needs
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where ${IS_TABLE} order by n.nspname, c.relname`,
    [schemas],
  );
  const waiting = new Map(rows.map((table) => [table.oid, table]));
  const ordered: Table[] = [];
  while (waiting.size > 0) {
    const free = [...waiting.values()].filter(({ needs }) => !needs.some((oid) => waiting.has(oid)));
    if (free.length === 0) {
      const names = Array.from(waiting.values(), ({ name }) => name).join(', ');
      throw new Error(
        `the tables ${names} refer to each other in a circle: they cannot be restored in any order`,
      );
    }
    for (const table of free) waiting.delete(table.oid);
    ordered.push(...free);
  }
  return ordered;
}

async function readSequences(client: ClientBase, schemas: readonly string[]): Promise<ArchiveEntry[]> {
  const { rows } = await client.query<TableRef & { owner: string; statement: string }>(
    `select schemaname as schema, sequencename as name, sequenceowner as owner,
       format('SELECT pg_catalog.setval(%L, %s, true)', format('%I.%I', schemaname, sequencename), last_value) as statement
     from pg_sequences where schemaname = any ($1) and last_value is not null order by 1, 2`,
    [schemas],
  );
  return rows.map((row) => ({ kind: 'SEQUENCE SET', ...row }));
}

/** A row of its own is too small a piece to write. */
async function* gather(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    pending.push(chunk);
    size += chunk.length;
    if (size < CHUNK_BYTES) continue;
    yield Buffer.concat(pending);
    pending = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(pending);
}
