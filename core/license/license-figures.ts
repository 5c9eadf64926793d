// How many licenses and seats there are: counted as long as there are few, then as PostgreSQL estimates them.
import type { Figures } from '../storage/database-figures.ts';

const LICENSES = 'hub_licenses';
const SEATS = 'hub_seats';

/** Beyond so many, what the last VACUUM or ANALYZE found is near enough. */
const COUNTED = 10_000;

/**
 * The estimate of a table or an index, or the count if that is small: `all` is what is counted. Never analyzed (-1), it
 * is counted as far as `COUNTED`.
 */
function sizeOf(relation: string, all: string): string {
  return `(select case when reltuples >= ${COUNTED} then reltuples::float8
            else (select count(*) from (select ${all} limit ${COUNTED + 1}) few)::float8 end
          from pg_class where oid = to_regclass('${relation}'))`;
}

export const licenseFigures: Figures = {
  specs: [
    {
      name: LICENSES,
      help: 'Licenses issued, revoked and expired ones too; beyond 10 000 as estimated by the last ANALYZE.',
    },
    {
      name: SEATS,
      help: 'Seats, active and released ones; beyond 10 000 as estimated by the last ANALYZE.',
    },
  ],
  async read(client) {
    const { rows } = await client.query<{ licenses: number; active: number; released: number }>({
      name: 'license_figures',
      // license_pkey, seat_active_key and seat_released_idx: of the seats each is in the one or the other
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
