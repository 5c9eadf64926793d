// The metric of months that have partitions ahead of time.
import type { Clock } from '../../clock.ts';
import type { Figures } from '../database-metrics.ts';
import { AHEAD, BY_MONTH } from './partitions.ts';

const MONTHS_AHEAD = 'hub_partition_months_ahead';

export function partitionMetrics(clock: Clock): Figures {
  return {
    specs: [
      {
        name: MONTHS_AHEAD,
        help: 'Months ahead for which every partitioned table has its partition; the hub creates three.',
      },
    ],
    async read(client) {
      const { rows } = await client.query<{ ahead: number }>({
        name: 'partition_figures',
        // The catalog alone; each parent has a handful of months.
        text: `select coalesce(min(ahead), 0)::int as ahead from (
                 select count(to_regclass(p.relname || to_char(
                          date_trunc('month', $1::timestamptz at time zone 'UTC') + n * interval '1 month',
                            '_YYYY_MM'))) as ahead
                 from pg_partitioned_table t
                 join pg_class p on p.oid = t.partrelid and ${BY_MONTH}
                 cross join generate_series(1, ${AHEAD}) n
                 group by p.oid
               ) each`,
        values: [clock()],
      });
      return { [MONTHS_AHEAD]: rows[0]?.ahead };
    },
  };
}
