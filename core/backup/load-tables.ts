// Loads the rows of a backup into existing empty tables. Statements contain only names from the backup that
// the schema of this hub has.
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg, { type ClientBase } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { messageOf } from '../../lib/caught-error.ts';
import { countedRows } from './archive-files.ts';
import { quote, readSequences, readTables } from './list-tables.ts';
import type { SequenceEntry, TableEntry } from './manifest.ts';
import { show, UnreadableBackup } from './unreadable-backup.ts';

/**
 * Checks that this schema has the tables, columns and sequences of the backup, and that the backup has all
 * tables of the hub. Ignores the name of the schema, which may differ.
 *
 * @param client Its database has exactly the migrations of the backup.
 * @throws UnreadableBackup that names what is missing
 */
export async function requireFitting(
  client: ClientBase,
  { tables, sequences }: { tables: readonly TableEntry[]; sequences: readonly SequenceEntry[] },
): Promise<void> {
  const known = await readTables(client);
  for (const { schema, name, columns, months } of tables) {
    const table = known.find((each) => each.name === name);
    if (table === undefined) {
      throw unfit(`table ${show(`${schema}.${name}`)}, which is not a table of the hub`);
    }
    if (tables.some((each) => each.name === name && each.schema !== schema)) {
      throw unfit(`table ${name} in two schemas`);
    }
    const column = columns.find((each) => !table.columns.includes(each));
    if (column !== undefined) {
      throw unfit(`column ${show(column)} of table ${schema}.${name}, which has no such column`);
    }
    if (months.length > 0 && !(await isPartitioned(client, table))) {
      throw unfit(`months of table ${schema}.${name}, which is not partitioned`);
    }
  }
  // A hub that was never started has no jobs.
  const missing = known.find(({ name }) => name !== 'job' && !tables.some((each) => each.name === name));
  if (missing !== undefined) {
    throw new UnreadableBackup(
      `the backup has no rows of table ${missing.schema}.${missing.name}: it is incomplete`,
    );
  }
  const positions = await readSequences(client);
  const sequence = sequences.find((each) => !positions.some(({ name }) => name === each.name));
  if (sequence !== undefined) {
    throw unfit(
      `sequence ${show(`${sequence.schema}.${sequence.name}`)}, which is not a sequence of the hub`,
    );
  }
}

/** Creates the partitions before the rows are loaded: moving the rows later would lock the tables. */
export async function makePartitionsFor(client: ClientBase, tables: readonly TableEntry[]): Promise<void> {
  for (const { name, months } of tables) {
    if (months.length === 0) continue;
    await client.query('select make_month_partitions($1, $2::date[])', [
      name,
      months.map((month) => `${month}-01`),
    ]);
  }
}

/** @throws Error with the table and the server's reason if the rows cannot be loaded */
export async function loadTable(
  client: ClientBase,
  table: TableEntry,
  rows: AsyncIterable<Buffer>,
): Promise<void> {
  const columns = table.columns.map((name) => pg.escapeIdentifier(name)).join(', ');
  const copy = copyFrom(`copy ${pg.escapeIdentifier(table.name)} (${columns}) from stdin`);
  const counted = countedRows(rows);
  await pipeline(Readable.from(counted.chunks), client.query(copy)).catch((error: unknown) => {
    if (!(error instanceof pg.DatabaseError)) throw error;
    throw new Error(`the rows of table ${table.schema}.${table.name} cannot be restored: ${error.message}`, {
      cause: error,
    });
  });
  // Older servers stop at a line `\.` and skip the rest.
  const sent = counted.count();
  if (copy.rowCount === sent) return;
  throw new UnreadableBackup(
    `the backup has ${sent} lines of table ${table.schema}.${table.name}, and the server read ` +
      `${copy.rowCount} rows`,
  );
}

/** @throws Error that names a sequence that cannot be set */
export async function setSequences(client: ClientBase, sequences: readonly SequenceEntry[]): Promise<void> {
  for (const { schema, name, lastValue } of sequences) {
    await client
      .query(`select setval(format('%I', $1::text)::regclass, $2::bigint)`, [name, lastValue])
      .catch((error: unknown) => {
        const reason = messageOf(error);
        throw new Error(`the sequence ${schema}.${name} cannot be set: ${reason}`, { cause: error });
      });
  }
}

/** Whether the table is partitioned by month. Such a table has a default partition. */
async function isPartitioned(client: ClientBase, table: TableEntry): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_partitioned_table where partrelid = to_regclass($1) and partdefid <> 0 and partstrat = 'r'
       and to_regprocedure('make_month_partitions(text, date[])') is not null`,
    [quote(table)],
  );
  return rows.length > 0;
}

function unfit(names: string): UnreadableBackup {
  return new UnreadableBackup(`the backup has ${names}`);
}
