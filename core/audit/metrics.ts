// Metrics of the audit chain: its length and its queue of unlinked entries.
import type { Figures } from '../storage/database-metrics.ts';
import { MAX_COUNTED, QUEUE_COLUMNS } from './unlinked-entries.ts';

const LINKS = 'hub_audit_chain_links';
const UNLINKED = 'hub_audit_unlinked_entries';
const UNLINKED_SECONDS = 'hub_audit_oldest_unlinked_seconds';

export const auditMetrics: Figures = {
  specs: [
    { name: LINKS, help: 'The number of the newest link of the audit chain.' },
    {
      name: UNLINKED,
      help:
        'Committed audit entries that are not linked into the chain yet; ' +
        `${MAX_COUNTED} means that many or more.`,
    },
    { name: UNLINKED_SECONDS, help: 'Age of the oldest audit entry without a link; 0 if there is none.' },
  ],
  async read(client) {
    const { rows } = await client.query<{ links: number; count: number; seconds: number }>({
      name: 'audit_figures',
      // audit_head has one row; audit_unlinked is a short queue.
      text: `select links, count,
                    coalesce(greatest(0, extract(epoch from now()) - "sinceMs" / 1000), 0)::float8 as seconds
             from (select coalesce((select max(seq) from audit_head), 0)::float8 as links, ${QUEUE_COLUMNS})
               figures`,
    });
    const [row] = rows;
    return { [LINKS]: row?.links, [UNLINKED]: row?.count, [UNLINKED_SECONDS]: row?.seconds };
  },
};
