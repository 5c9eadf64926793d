// The metrics of refunds, read from their table.
import type { Figures } from '../../storage/database-metrics.ts';

const PENDING = 'hub_refunds_pending';
const OLDEST = 'hub_refunds_oldest_pending_seconds';
const REVIEW = 'hub_refunds_needing_review';

const COUNTED = 10_000;

export const refundTableMetrics: Figures = {
  specs: [
    {
      name: PENDING,
      labelNames: ['gateway', 'kind'],
      help:
        'Refunds and disputes that are not final; of all gateways together, ' +
        `${COUNTED} means that many or more.`,
    },
    {
      name: OLDEST,
      help: 'Age of the oldest pending refund in seconds, disputes left out; 0 if there is none.',
    },
    {
      name: REVIEW,
      help: `Refunds that an operator has to review; ${COUNTED} means that many or more.`,
    },
  ],
  async read(client) {
    const { rows: pending } = await client.query<{ gateway: string; kind: string; count: number }>({
      name: 'pending_refunds',
      // refund_pending_idx
      text: `select gateway, kind, count(*)::int as count
             from (select gateway, kind from refund where state = 'pending' limit ${COUNTED}) as counted
             group by gateway, kind`,
    });
    const { rows } = await client.query<{ oldestSeconds: number; needingReview: number }>({
      name: 'refund_figures',
      // refund_pending_idx, refund_review_idx
      text: `select coalesce((
                      select greatest(0, extract(epoch from now() - created_at)) from refund
                      where kind = 'refund' and state = 'pending' order by created_at limit 1
                    ), 0)::float8 as "oldestSeconds",
                    (select count(*) from (
                      select from refund where review_reason <> '' and reviewed_at is null limit ${COUNTED}
                    ) as counted)::int as "needingReview"`,
    });
    const [row] = rows;
    return {
      [PENDING]: pending.map(({ gateway, kind, count }) => ({ labels: { gateway, kind }, value: count })),
      [OLDEST]: row?.oldestSeconds ?? 0,
      [REVIEW]: row?.needingReview ?? 0,
    };
  },
};
