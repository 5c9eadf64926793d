// Finds the rows that contain a text, if they are few.
import type { Pool } from 'pg';

export type RareSearch = {
  /** A table with an alias, whose ids increase with time: `customer c`. */
  readonly from: `${string} ${string}`;
  /** On the alias, by an index of trigrams. */
  readonly where: string;
  readonly values: readonly unknown[];
  /** The maximum number of ids. */
  readonly most: number;
};

/** If this many of the newest `SAMPLE` rows match, the text is frequent. */
const FREQUENT = 20;
const SAMPLE = 200;

/**
 * Returns the ids of the rows that match; undefined if there are too many.
 *
 * An index of trigrams reads all its entries for a text before it returns the first row: with a million
 * licenses, 0.5 s for a text that most customers contain. So the statement looks at the newest rows first,
 * and does not use the index for a frequent text.
 */
export async function findRare(pool: Pool, search: RareSearch): Promise<string[] | undefined> {
  const { from, where, values, most } = search;
  const [, alias] = from.split(' ');
  const { rows } = await pool.query<{ id: string | null }>(
    // Materialized, so that the limit does not lead to a plan that reads the whole table.
    `with newest as materialized (
       select count(*) >= ${FREQUENT} as match
       from (select * from ${from} order by id desc limit ${SAMPLE}) ${alias} where ${where}
     ), found as materialized (
       select ${alias}.id from ${from} where not (select match from newest) and ${where}
     )
     select null::uuid as id from newest where match
     union all
     (select id from found limit ${most + 1})`,
    [...values],
  );
  const ids = rows.flatMap(({ id }) => id ?? []);
  return ids.length < rows.length || ids.length > most ? undefined : ids;
}
