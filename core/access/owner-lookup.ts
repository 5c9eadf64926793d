// Looks up the app or slot that owns a resource, for tokens that are limited to it.
import type { Pool } from 'pg';
import { type IdPrefix, parseId } from '../ids.ts';

/** `name` is the column with the owner's name. */
export function createOwnerLookup(pool: Pool, name: 'app.slug' | 'slot.name') {
  /**
   * The owner's name by `from`: a FROM clause and a WHERE clause that ends with the column to compare to
   * `value`.
   */
  const find = async (from: string, value: unknown): Promise<string | undefined> => {
    if (value === undefined) return undefined;
    const sql = `select ${name} as owner from ${from} = $1`;
    const { rows } = await pool.query<{ owner: string }>(sql, [value]);
    return rows[0]?.owner;
  };
  /** The same by a resource id. Undefined for text that is no id of this kind. */
  const byId = (prefix: IdPrefix, from: string) => (text: string) => find(from, parseId(prefix, text));
  return { find, byId };
}
