// Reads the status changes of sessions and the replays of callbacks from the audit log, unless they are
// pruned.
import type { Pool } from 'pg';
import { formatId } from '../../ids.ts';
import { epochMs } from '../../storage/sql/epoch.ts';
import { type Page, type PageRequest, readPage } from '../../storage/sql/page.ts';
import type { Callback, ChargeStatusName } from '../entities.ts';

/** A settlement or release that changed the status, its verification or its reason. */
export type StatusChange = {
  /** The id of the audit entry. */
  readonly id: string;
  readonly at: Date;
  readonly from: ChargeStatusName;
  readonly to: ChargeStatusName;
  readonly verified: boolean;
  readonly reason: string;
  /** The public id; undefined if no callback triggered the change. */
  readonly callbackId: string | undefined;
};

export type TracedCallback = {
  readonly callback: Callback;
  readonly replayedAt: readonly Date[];
  /** The status that the callback's settlement left its session in; undefined if not settled or pruned. */
  readonly sessionStatus: ChargeStatusName | undefined;
};

/** SQL: the actions that change a session's status or its reason. */
const STATUS_ACTIONS = `'charge_session.settle', 'charge_session.release'`;

/** The latest replays of a callback that are listed. */
const MAX_REPLAYS = 20;
/** The latest changes of a session that are searched for the settlements of its callbacks. */
const MAX_CHANGES = 200;

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
      // audit_entry_subject_idx. Entries without a state before or after are no changes.
      text: `select id, ${epochMs('at')} as "atMs", before->>'status' as "from",
                    after->>'status' as "to",
                    coalesce((after->>'verified')::boolean, after->>'status' = 'success') as verified,
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

/**
 * For settled callbacks, by id: the status of the session after the last change before the callback was
 * finished.
 */
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
    // audit_entry_subject_idx; the latest changes of each session, newest first
    text: `select subject, "atMs", status
           from (
             select subject, ${epochMs('at')} as "atMs", after->>'status' as status,
                    row_number() over (partition by subject order by id desc) as nth
             from audit_entry
             where subject = any($1) and action in (${STATUS_ACTIONS})
               and before is not null and after is not null
           ) as change
           where nth <= ${MAX_CHANGES} order by subject, nth`,
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
    // audit_entry_subject_idx; the latest replays of each callback
    text: `select subject, "atMs"
           from (
             select subject, ${epochMs('at')} as "atMs", id,
                    row_number() over (partition by subject order by id desc) as nth
             from audit_entry where subject = any($1) and action = 'callback.replay'
           ) as replay
           where nth <= ${MAX_REPLAYS} order by id`,
    values: [[...idOf.keys()]],
  });
  const replays = Map.groupBy(rows, ({ subject }) => idOf.get(subject) ?? '');
  return new Map(Array.from(replays, ([id, times]) => [id, times.map(({ atMs }) => new Date(atMs))]));
}
