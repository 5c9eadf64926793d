// Numbers of licenses and seats: counted up to 10 000, then estimated by PostgreSQL.
import type { Figures } from '../storage/database-metrics.ts';

const LICENSES = 'hub_licenses';
const SEATS = 'hub_seats';

const COUNTED = 10_000;

/**
 * The estimate for a table or index from the last VACUUM or ANALYZE; below `COUNTED`, or if there is none
 * (-1), the number of `rows`, at most `COUNTED` + 1.
 */
function sizeOf(relation: string, rows: string): string {
  return `(select case when reltuples >= ${COUNTED} then reltuples::float8
            else (select count(*) from (select ${rows} limit ${COUNTED + 1}) few)::float8 end
          from pg_class where oid = to_regclass('${relation}'))`;
}

export const licenseTableMetrics: Figures = {
  specs: [
    {
      name: LICENSES,
      help:
        'Licenses issued, including revoked and expired ones; ' +
        'above 10 000 the estimate of the last ANALYZE.',
    },
    {
      name: SEATS,
      labelNames: ['state'],
      help: 'Seats, active and released; above 10 000 the estimate of the last ANALYZE.',
    },
  ],
  async read(client) {
    const { rows } = await client.query<{ licenses: number; active: number; released: number }>({
      name: 'license_figures',
      // license_pkey, seat_active_key, seat_released_idx
      text: `select ${sizeOf('license_pkey', 'from license')} as licenses,
                    ${sizeOf('seat_active_key', 'from seat where released_at is null')} as active,
                    ${sizeOf('seat_released_idx', 'from seat where released_at is not null')} as released`,
    });
    const [row] = rows;
    if (row === undefined) return {};
    return {
      [LICENSES]: row.licenses,
      [SEATS]: [
        { labels: { state: 'active' }, value: row.active },
        { labels: { state: 'released' }, value: row.released },
      ],
    };
  },
};
