// Audit entries without a link: those that wait for one, and those that lost it.
import type { ClientBase, Pool } from 'pg';
import { formatId } from '../ids.ts';
import type { Break } from './walk-chain.ts';

export type UnlinkedQueue = {
  /** At most `MAX_COUNTED`, which means that many or more. */
  readonly count: number;
  /** Time of the oldest queued entry; undefined if there is none. */
  readonly since: Date | undefined;
};

export const MAX_COUNTED = 10_000;

/** The oldest of the first hundred, since the row of one of them may be missing. */
const OLDEST = `
  select min(e.at) as since
  from (select entry_id from audit_unlinked order by entry_id limit 100) u
  cross join lateral (select at from audit_entry e where e.id = u.entry_id offset 0) e`;

/**
 * Columns `count` and `sinceMs`. Uses audit_unlinked_pkey and audit_entry_pkey; for `offset 0` see
 * link-entries.ts.
 */
export const QUEUE_COLUMNS = `
  (select count(*) from (select from audit_unlinked limit ${MAX_COUNTED}) queued)::float8 as count,
  (select extract(epoch from since) * 1000 from (${OLDEST}) oldest)::float8 as "sinceMs"`;

export async function readUnlinkedQueue(db: Pool | ClientBase): Promise<UnlinkedQueue> {
  const { rows } = await db.query<{ count: number; sinceMs: number | null }>({
    name: 'read_audit_queue',
    text: `select ${QUEUE_COLUMNS}`,
  });
  const { count = 0, sinceMs = null } = rows[0] ?? {};
  return { count, since: sinceMs === null ? undefined : new Date(sinceMs) };
}

const BATCH = 500;

/**
 * Finds a queued entry that is missing, or an entry that has no link and is not queued, with an id below
 * `below`. Each batch is one statement: a transaction that writes an entry also queues it, and one that links
 * it takes it off the queue.
 */
export async function findUnlinked(
  pool: Pool,
  signal?: AbortSignal,
  below = 'ffffffff-ffff-ffff-ffff-ffffffffffff',
): Promise<Break | undefined> {
  const { rows: missing } = await pool.query<{ id: string }>(
    `select u.entry_id as id from audit_unlinked u
     where u.entry_id < $1 and not exists (select from audit_entry e where e.id = u.entry_id)
     order by u.entry_id limit 1`,
    [below],
  );
  const [first] = missing;
  if (first) {
    const detail = 'the row is missing, and was never linked';
    return { problem: 'row_missing', entryId: formatId('aud', first.id), detail };
  }
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    signal?.throwIfAborted();
    const { rows } = await pool.query<{ id: string; unlinked: boolean }>({
      name: 'find_unlinked_audit_entries',
      // audit_entry_pkey, audit_link_pkey
      text: `select e.id, l.entry_id is null and u.entry_id is null as unlinked
             from (select id from audit_entry where id > $1 and id < $3 order by id limit $2) e
             left join audit_link l on l.entry_id = e.id
             left join audit_unlinked u on u.entry_id = e.id`,
      values: [after, BATCH, below],
    });
    const [id] = rows.flatMap(({ id, unlinked }) => (unlinked ? [id] : [])).sort();
    if (id) {
      const detail = 'the row has no link: its link was removed';
      return { problem: 'row_unlinked', entryId: formatId('aud', id), detail };
    }
    if (rows.length < BATCH) return undefined;
    for (const { id } of rows) if (id > after) after = id;
  }
}
