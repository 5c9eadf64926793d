// Where the audit chain stands: its length, and what it does not hold yet.
import type { Figures } from '../storage/database-figures.ts';
import { MOST_WAITING, WAITING } from './audit-waiting.ts';

const LINKS = 'hub_audit_chain_links';
const UNLINKED = 'hub_audit_unlinked_entries';
const UNLINKED_SECONDS = 'hub_audit_oldest_unlinked_seconds';

export const auditFigures: Figures = {
  specs: [
    { name: LINKS, help: 'The number of the newest link of the audit chain.' },
    {
      name: UNLINKED,
      help: `Audit entries that are committed and not linked into the chain yet; ${MOST_WAITING}: so many or more.`,
    },
    {
      name: UNLINKED_SECONDS,
      help: 'How long the oldest audit entry without a link has waited for it; 0 if none waits.',
    },
  ],
  async read(client) {
    const { rows } = await client.query<{ links: number; count: number; seconds: number }>({
      name: 'audit_figures',
      // audit_head has one row. audit_unlinked is a queue: what is in it is read, as far as it goes.
      text: `select links, count, coalesce(greatest(0, extract(epoch from now()) - "sinceMs" / 1000), 0)::float8 as seconds
             from (select coalesce((select max(seq) from audit_head), 0)::float8 as links, ${WAITING}) figures`,
    });
    const [row] = rows;
    return { [LINKS]: row?.links, [UNLINKED]: row?.count, [UNLINKED_SECONDS]: row?.seconds };
  },
};
