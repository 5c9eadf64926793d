// What is recorded and has no link yet.
import type { ClientBase, Pool } from 'pg';

export type Waiting = {
  /** `MOST_WAITING`: so many or more. */
  readonly count: number;
  /** When the oldest was written; undefined if there is none. */
  readonly since: Date | undefined;
};

export const MOST_WAITING = 10_000;

/** Of the oldest by their ids, since one of them may be gone: its row, and its time with it. */
const OLDEST = `
  select min(e.at) as since
  from (select entry_id from audit_unlinked order by entry_id limit 100) u
  cross join lateral (select at from audit_entry e where e.id = u.entry_id offset 0) e`;

/** As columns `count` and `sinceMs`. audit_unlinked_pkey; audit_entry_pkey, and not the whole log: see audit-chainer.ts. */
export const WAITING = `
  (select count(*) from (select from audit_unlinked limit ${MOST_WAITING}) queued)::float8 as count,
  (select extract(epoch from since) * 1000 from (${OLDEST}) oldest)::float8 as "sinceMs"`;

export async function readWaiting(db: Pool | ClientBase): Promise<Waiting> {
  const { rows } = await db.query<{ count: number; sinceMs: number | null }>({
    name: 'read_audit_waiting',
    text: `select ${WAITING}`,
  });
  const { count = 0, sinceMs = null } = rows[0] ?? {};
  return { count, since: sinceMs === null ? undefined : new Date(sinceMs) };
}
