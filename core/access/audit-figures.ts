// Where the audit chain stands: its length, and what it does not hold yet.
import type { Figures } from '../storage/database-figures.ts';

const LINKS = 'hub_audit_chain_links';
const UNLINKED = 'hub_audit_unlinked_entries';

const MOST = 10_000;

export const auditFigures: Figures = {
  specs: [
    { name: LINKS, help: 'The number of the newest link of the audit chain.' },
    {
      name: UNLINKED,
      help: `Audit entries that are committed and not linked into the chain yet; ${MOST}: so many or more.`,
    },
  ],
  async read(client) {
    const { rows } = await client.query<{ links: number; unlinked: number }>({
      name: 'audit_figures',
      // audit_head has one row. audit_unlinked is a queue: what is in it is read, as far as it goes.
      text: `select coalesce((select seq from audit_head), 0)::float8 as links,
                    (select count(*) from (select from audit_unlinked limit ${MOST}) queued)::float8 as unlinked`,
    });
    return { [LINKS]: rows[0]?.links, [UNLINKED]: rows[0]?.unlinked };
  },
};
