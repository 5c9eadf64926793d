// Finds the rows that contain a text, if they are few.
import type { Pool } from 'pg';

export type RareSearch = {
  /** A table with an alias: `customer c`. */
  readonly from: `${string} ${string}`;
  /** On the alias, by an index of trigrams. */
  readonly where: string;
  readonly values: readonly unknown[];
  /** The maximum number of ids. */
  readonly most: number;
};

/** The number of blocks in the sample, on average. A small table is read completely. */
const SAMPLED_BLOCKS = 20;
const SAMPLED_BYTES = SAMPLED_BLOCKS * 8192;
/** A text is frequent if it is in more than this share of the sampled rows. */
const FREQUENT_SHARE = 0.2;

/**
 * Returns the ids of the rows that match; undefined if there are too many.
 *
 * An index of trigrams reads all its entries for a text before it returns the first row. With a million
 * licenses, that takes 0.5 s for a text that most customers contain. So the statement first samples random
 * blocks of the table, and does not use the index if the text is frequent in them. The newest rows would be
 * no good sample: rows that were added together often contain the same text.
 */
export async function findRare(pool: Pool, search: RareSearch): Promise<string[] | undefined> {
  const { from, where, values, most } = search;
  const [table, alias] = from.split(' ');
  const percent = `least(100, 100.0 * ${SAMPLED_BYTES} / greatest(1, pg_relation_size('${table}')))`;
  const { rows } = await pool.query<{ id: string | null }>(
    // Materialized, so that the limit does not lead to a plan that reads the whole table.
    `with sample as materialized (
       select count(*) filter (where ${where}) > ${FREQUENT_SHARE} * count(*) as is_frequent
       from ${from} tablesample system (${percent})
     ), found as materialized (
       select ${alias}.id from ${from} where not (select is_frequent from sample) and ${where}
     )
     select null::uuid as id from sample where is_frequent
     union all
     (select id from found limit ${most + 1})`,
    [...values],
  );
  const ids = rows.flatMap(({ id }) => id ?? []);
  return ids.length < rows.length || ids.length > most ? undefined : ids;
}
