// Reads the names of the apps and slots in the scopes of endpoints.
import type { Pool } from 'pg';
import type { Endpoint } from '../entities.ts';

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
