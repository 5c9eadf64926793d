// Reads the names and the ids of the apps and slots that endpoints and lists of events are limited to.
import type { Pool, PoolClient } from 'pg';
import { HubError } from '../../errors.ts';
import { isResourceName } from '../../resource-name.ts';
import type { Endpoint } from '../entities.ts';

/**
 * The UUIDs of apps by slug, or of slots by name. `field` is that of the request.
 * @throws HubError `app_unknown`, `slot_unknown`
 */
export async function findScopeIds(
  db: Pool | PoolClient,
  table: 'app' | 'slot',
  names: readonly string[],
  field: string,
): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const column = table === 'app' ? 'slug' : 'name';
  const { rows } = await db.query<{ id: string; name: string }>(
    // app_slug_key, slot_name_key
    `select id, ${column} as name from ${table} where ${column} = any($1)`,
    [names.filter(isResourceName)],
  );
  const known = new Set(rows.map(({ name }) => name));
  const missing = names.find((name) => !known.has(name));
  if (missing === undefined) return rows.map(({ id }) => id);
  throw new HubError(`${table}_unknown`, `there is no ${table} "${missing}"`, { field });
}

export type ReadScopeNames = ReturnType<typeof createReadScopeNames>;

/** The function returns names by UUID. */
export function createReadScopeNames(pool: Pool) {
  return async (
    endpoints: readonly Pick<Endpoint, 'appIds' | 'slotIds'>[],
  ): Promise<ReadonlyMap<string, string>> => {
    const ids = endpoints.flatMap(({ appIds, slotIds }) => [...appIds, ...slotIds]);
    if (ids.length === 0) return new Map();
    const { rows } = await pool.query<{ id: string; name: string }>({
      name: 'names_of_endpoint_scopes',
      // app_pkey, slot_pkey
      text: `select id, slug as name from app where id = any($1)
             union all select id, name from slot where id = any($1)`,
      values: [ids],
    });
    return new Map(rows.map(({ id, name }) => [id, name]));
  };
}
