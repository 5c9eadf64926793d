// What the audit log tells of sessions and callbacks: each change of a status, each replay. Months that were pruned
// from it are not told of any more.
import type { Pool } from 'pg';
import { formatId } from '../ids.ts';
import type { Callback, ChargeStatusName } from './entities.ts';

/** A settlement that changed something: the status, that it is verified now, or only the reason. */
export type StatusChange = {
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

/** Oldest first. */
export async function readStatusChanges(pool: Pool, sessionId: string): Promise<readonly StatusChange[]> {
  return (await readChangesOf(pool, [sessionId])).get(sessionId) ?? [];
}

export async function traceCallbacks(
  pool: Pool,
  callbacks: readonly Callback[],
): Promise<readonly TracedCallback[]> {
  const sessionIds = callbacks.flatMap(({ session }) => session?.id ?? []);
  const changes = await readChangesOf(pool, [...new Set(sessionIds)]);
  const ids = callbacks.map(({ id }) => id);
  const replays = await readReplays(pool, ids);
  return callbacks.map((callback) => {
    const { id, state, session, finishedAt } = callback;
    const before = (changes.get(session?.id ?? '') ?? []).filter(({ at }) => finishedAt && at <= finishedAt);
    return {
      callback,
      replayedAt: replays.get(id) ?? [],
      sessionStatus: state === 'settled' ? before.at(-1)?.to : undefined,
    };
  });
}

async function readChangesOf(
  pool: Pool,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, readonly StatusChange[]>> {
  if (sessionIds.length === 0) return new Map();
  const idOf = new Map(sessionIds.map((id) => [formatId('chs', id), id]));
  const { rows } = await pool.query<
    Omit<StatusChange, 'at' | 'callbackId'> & { subject: string; atMs: number; callbackId: string | null }
  >({
    name: 'status_changes',
    // audit_entry_subject_idx. Entries of the first versions do not say what was before and after.
    text: `select subject, (extract(epoch from at) * 1000)::float8 as "atMs", before->>'status' as "from",
                  after->>'status' as "to", coalesce((after->>'verified')::boolean, after->>'status' = 'success') as verified,
                  after->>'reason' as reason, detail->>'callback' as "callbackId"
           from audit_entry
           where subject = any($1) and action = 'charge_session.settle' and before is not null and after is not null
           order by id`,
    values: [[...idOf.keys()]],
  });
  const found = rows.map(({ subject, atMs, callbackId, ...change }) => ({
    sessionId: idOf.get(subject) ?? '',
    change: { ...change, at: new Date(atMs), callbackId: callbackId ?? undefined },
  }));
  return group(found, ({ sessionId, change }) => [sessionId, change]);
}

async function readReplays(
  pool: Pool,
  callbackIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Date[]>> {
  const idOf = new Map(callbackIds.map((id) => [formatId('cb', id), id]));
  const { rows } = await pool.query<{ subject: string; atMs: number }>({
    name: 'callback_replays',
    // audit_entry_subject_idx
    text: `select subject, (extract(epoch from at) * 1000)::float8 as "atMs" from audit_entry
           where subject = any($1) and action = 'callback.replay' order by id`,
    values: [[...idOf.keys()]],
  });
  return group(rows, ({ subject, atMs }) => [idOf.get(subject) ?? '', new Date(atMs)]);
}

function group<T, V>(items: readonly T[], entryOf: (item: T) => readonly [string, V]): Map<string, V[]> {
  const groups = new Map<string, V[]>();
  for (const [key, value] of items.map(entryOf)) groups.set(key, [...(groups.get(key) ?? []), value]);
  return groups;
}
