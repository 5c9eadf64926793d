// What the audit log tells of sessions and callbacks: each change of a status, each replay. Months that were pruned
// from it are not told of any more.
import type { Pool } from 'pg';
import { formatId } from '../ids.ts';
import { type Page, type PageRequest, readPage } from '../storage/page.ts';
import type { Callback, ChargeStatusName } from './entities.ts';

/** A settlement that changed something: the status, that it is verified now, or only the reason. */
export type StatusChange = {
  /** Of the entry of the audit log. */
  readonly id: string;
  readonly at: Date;
  readonly from: ChargeStatusName;
  readonly to: ChargeStatusName;
  readonly verified: boolean;
  readonly reason: string;
  /** As it is shown; undefined if the provider was asked by the sweep, by a recheck or for a checkout. */
  readonly callbackId: string | undefined;
};

export type TracedCallback = {
  readonly callback: Callback;
  readonly replayedAt: readonly Date[];
  /** The status of its session when it was settled; undefined if it is not, or if that is not known any more. */
  readonly sessionStatus: ChargeStatusName | undefined;
};

/** Actions that change a session's status, as a list in SQL. */
const STATUS_ACTIONS = `'charge_session.settle', 'charge_session.release'`;

/** Replays of one callback that are told: the latest. */
const MOST_REPLAYS = 20;
/** Changes of one session that are looked at to say what its callbacks were settled with: the latest. */
const MOST_CHANGES = 200;

/** Newest first. @throws HubError `page_token_invalid` */
export function listStatusChanges(
  pool: Pool,
  sessionId: string,
  request: PageRequest,
): Promise<Page<StatusChange>> {
  return readPage(request, 'aud', async (after, limit) => {
    const { rows } = await pool.query<
      Omit<StatusChange, 'at' | 'callbackId'> & { atMs: number; callbackId: string | null }
    >({
      name: 'status_changes',
      // audit_entry_subject_idx. Entries of the first versions do not say what was before and after.
      text: `select id, (extract(epoch from at) * 1000)::float8 as "atMs", before->>'status' as "from",
                    after->>'status' as "to", coalesce((after->>'verified')::boolean, after->>'status' = 'success') as verified,
                    after->>'reason' as reason, detail->>'callback' as "callbackId"
             from audit_entry
             where subject = $1 and action in (${STATUS_ACTIONS}) and before is not null and after is not null
               and ($2::uuid is null or id < $2)
             order by id desc limit $3`,
      values: [formatId('chs', sessionId), after ?? null, limit],
    });
    return rows.map(({ atMs, callbackId, ...change }) => ({
      ...change,
      at: new Date(atMs),
      callbackId: callbackId ?? undefined,
    }));
  });
}

export async function traceCallbacks(
  pool: Pool,
  callbacks: readonly Callback[],
): Promise<readonly TracedCallback[]> {
  const statuses = await readStatusesAt(pool, callbacks);
  const replays = await readReplays(
    pool,
    callbacks.map(({ id }) => id),
  );
  return callbacks.map((callback) => ({
    callback,
    replayedAt: replays.get(callback.id) ?? [],
    sessionStatus: statuses.get(callback.id),
  }));
}

/** Of callbacks that are settled, by their ids: the status that the last change until then gave their session. */
async function readStatusesAt(
  pool: Pool,
  callbacks: readonly Callback[],
): Promise<ReadonlyMap<string, ChargeStatusName>> {
  const settled = callbacks.flatMap(({ id, state, session, finishedAt }) =>
    state === 'settled' && session && finishedAt
      ? [{ id, subject: formatId('chs', session.id), finishedAt }]
      : [],
  );
  if (settled.length === 0) return new Map();
  const { rows } = await pool.query<{ subject: string; atMs: number; status: ChargeStatusName }>({
    name: 'statuses_of_sessions',
    // audit_entry_subject_idx; of each session the latest changes, newest first
    text: `select subject, "atMs", status
           from (
             select subject, (extract(epoch from at) * 1000)::float8 as "atMs", after->>'status' as status,
                    row_number() over (partition by subject order by id desc) as nth
             from audit_entry
             where subject = any($1) and action in (${STATUS_ACTIONS}) and before is not null and after is not null
           ) as change
           where nth <= ${MOST_CHANGES} order by subject, nth`,
    values: [[...new Set(settled.map(({ subject }) => subject))]],
  });
  const changes = Map.groupBy(rows, ({ subject }) => subject);
  return new Map(
    settled.flatMap(({ id, subject, finishedAt }) => {
      const last = changes.get(subject)?.find(({ atMs }) => atMs <= finishedAt.getTime());
      return last ? [[id, last.status]] : [];
    }),
  );
}

async function readReplays(
  pool: Pool,
  callbackIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Date[]>> {
  const idOf = new Map(callbackIds.map((id) => [formatId('cb', id), id]));
  const { rows } = await pool.query<{ subject: string; atMs: number }>({
    name: 'callback_replays',
    // audit_entry_subject_idx; of each callback the latest
    text: `select subject, "atMs"
           from (
             select subject, (extract(epoch from at) * 1000)::float8 as "atMs", id,
                    row_number() over (partition by subject order by id desc) as nth
             from audit_entry where subject = any($1) and action = 'callback.replay'
           ) as replay
           where nth <= ${MOST_REPLAYS} order by id`,
    values: [[...idOf.keys()]],
  });
  return group(rows, ({ subject, atMs }) => [idOf.get(subject) ?? '', new Date(atMs)]);
}

function group<T, V>(items: readonly T[], entryOf: (item: T) => readonly [string, V]): Map<string, V[]> {
  const groups = new Map<string, V[]>();
  for (const [key, value] of items.map(entryOf)) groups.set(key, [...(groups.get(key) ?? []), value]);
  return groups;
}
