// Measures tables and indexes. Partitions count toward their table or their table's index.
import { query } from '../../support/postgres/databases.ts';

export type Size = {
  readonly table: string;
  /** Undefined: the table itself. */
  readonly index: string | undefined;
  readonly bytes: number;
};

/** The sizes of growing tables, in descending order. */
export async function sizesOf(databaseUrl: string): Promise<Size[]> {
  const rows = await query<{ table: string; index: string | null; bytes: string }>(
    databaseUrl,
    `with tables as (
       select coalesce(i.inhparent, c.oid) as root, c.oid from pg_class c left join pg_inherits i on i.inhrelid = c.oid
       where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
     ), indexes as (
       select tables.root, coalesce(i.inhparent, x.indexrelid) as index, x.indexrelid
       from tables join pg_index x on x.indrelid = tables.oid left join pg_inherits i on i.inhrelid = x.indexrelid
     )
     select root::regclass::text as "table", null as index, sum(pg_table_size(oid)) as bytes from tables group by root
     union all
     select root::regclass::text, index::regclass::text, sum(pg_relation_size(indexrelid)) from indexes group by root, index
     order by bytes desc`,
  );
  return rows.map(({ table, index, bytes }) => ({ table, index: index ?? undefined, bytes: Number(bytes) }));
}
