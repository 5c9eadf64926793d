// Counts the active seats of licenses.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { License } from './entities.ts';

/** Active seats by license id; licenses without any are left out. */
export async function countActiveSeats(
  em: EntityManager,
  licenses: readonly License[],
): Promise<Map<string, number>> {
  // seat_active_key
  const rows = await em.execute<{ licenseId: string; used: number }[]>(
    `select license_id as "licenseId", count(*)::int as used from seat
     where license_id = any(?::uuid[]) and released_at is null
     group by license_id`,
    [`{${licenses.map((license) => license.id).join(',')}}`],
  );
  return new Map(rows.map((row) => [row.licenseId, row.used]));
}
