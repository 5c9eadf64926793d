// Looks up the app or slot that owns a resource, for tokens that are limited to it.
import type { Pool } from 'pg';
import { type IdPrefix, parseId } from '../ids.ts';

export type OwnerLookup = {
  /**
   * The owner's name by `from`: a FROM clause and a WHERE clause that ends with the column to compare to
   * `value`.
   */
  find(from: string, value: unknown): Promise<string | undefined>;
  /** The same by a resource id. Undefined for text that is no id of this kind. */
  byId(prefix: IdPrefix, from: string): (text: string) => Promise<string | undefined>;
};

/** `name` is the column with the owner's name. */
export function createOwnerLookup(pool: Pool, name: 'app.slug' | 'slot.name'): OwnerLookup {
  const find: OwnerLookup['find'] = async (from, value) => {
    if (value === undefined) return undefined;
    const { rows } = await pool.query<{ owner: string }>(`select ${name} as owner from ${from} = $1`, [
      value,
    ]);
    return rows[0]?.owner;
  };
  return { find, byId: (prefix, from) => (text) => find(from, parseId(prefix, text)) };
}
