// Reads from the catalog which tables and sequences a backup contains.
import pg, { type ClientBase } from 'pg';
import { JOB_TABLES } from '../payment/callbacks/job-queue.ts';
import type { SequenceEntry, TableEntry } from './manifest.ts';

export type TableRef = Pick<TableEntry, 'schema' | 'name'>;

/** Quoted, with its schema. */
export function quote({ schema, name }: TableRef): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}

export async function currentSchema(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_schema() as name');
  return rows[0]?.name ?? 'public';
}

/**
 * The rows of hub_lock are the same in every database. Of the job queue only the jobs are backed up: its
 * other tables hold SQL that the queue runs, table names and statistics.
 */
const EXCLUDED = ['hub_lock', ...JOB_TABLES.filter((name) => name !== 'job')];
/** The tables of the hub, without partitions and extension tables. */
const INCLUDED = `
  c.relkind in ('r', 'p') and not c.relispartition
  and n.nspname = current_schema() and c.relname <> all ('{${EXCLUDED}}')
  and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = c.oid and deptype =
    'e')`;

export async function listTables(client: ClientBase): Promise<TableRef[]> {
  const { rows } = await client.query<TableRef>(
    `select n.nspname as schema, c.relname as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where ${INCLUDED} order by 1, 2`,
  );
  return rows;
}

type Row = TableEntry & {
  readonly oid: number;
  /** The tables that this one references. */
  readonly needs: readonly number[];
};

/**
 * Each table after the tables that it references.
 * @throws Error if tables reference each other in a cycle
 */
export async function readTables(client: ClientBase): Promise<TableEntry[]> {
  const { rows } = await client.query<Row>(
    `select c.oid::int8::float8 as oid, n.nspname as schema, c.relname as name,
       (select coalesce(json_agg(attname order by attnum), '[]') from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
       (select coalesce(json_agg(replace(right(p.relname, 7), '_', '-') order by p.relname), '[]')
        from pg_inherits i join pg_class p on p.oid = i.inhrelid
        where i.inhparent = c.oid and p.relname ~ '_\\d{4}_\\d{2}$') as months,
       (select coalesce(json_agg(confrelid::int8), '[]') from pg_constraint
        where coalesce(pg_partition_root(conrelid), conrelid) = c.oid and contype = 'f'
          and confrelid <> c.oid) as needs
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where ${INCLUDED} order by n.nspname, c.relname`,
  );
  const waiting = new Map(rows.map((table) => [table.oid, table]));
  const ordered: Row[] = [];
  while (waiting.size > 0) {
    const free = [...waiting.values()].filter(({ needs }) => !needs.some((oid) => waiting.has(oid)));
    if (free.length === 0) {
      const names = Array.from(waiting.values(), ({ name }) => name).join(', ');
      throw new Error(
        `the tables ${names} refer to each other in a cycle: they cannot be restored in any order`,
      );
    }
    for (const table of free) waiting.delete(table.oid);
    ordered.push(...free);
  }
  return ordered.map(({ schema, name, columns, months }) => ({ schema, name, columns, months }));
}

/** The sequences of the hub's own schema. `lastValue` is null for a sequence that was never used. */
export async function readSequences(
  client: ClientBase,
): Promise<(Omit<SequenceEntry, 'lastValue'> & { lastValue: string | null })[]> {
  const { rows } = await client.query<Omit<SequenceEntry, 'lastValue'> & { lastValue: string | null }>(
    `select schemaname as schema, sequencename as name, last_value::text as "lastValue"
     from pg_sequences where schemaname = current_schema() order by 1, 2`,
  );
  return rows;
}
