// Streams events after a cursor. The cursor is the number of the last event that the stream has read.
import { setTimeout } from 'node:timers/promises';
import type { Pool } from 'pg';
import { shareRead } from '../../../lib/net/share-read.ts';
import { HubError } from '../../errors.ts';
import {
  type EventFilter,
  type Events,
  type EventWithData,
  isInScope,
  resolveFilter,
  type StoredEvent,
} from './events.ts';

export type WatchRequest = EventFilter & { readonly cursor: string };

export type WatchedEvent = { readonly cursor: string; readonly event: EventWithData | undefined };

export type WatchEvents = ReturnType<typeof createWatchEvents>;

const BATCH = 200;
const POLL_MS = 200;
const HEARTBEAT_MS = 15_000;

/**
 * Creates the stream, which rejects with HubError `app_unknown`, `slot_unknown`, `event_type_unknown`,
 * `cursor_invalid` or `cursor_pruned`.
 */
export function createWatchEvents(pool: Pool, events: Events) {
  // All streams share one query.
  const span = shareRead(() => events.span(), POLL_MS / 2);
  return async function* watch(request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchedEvent> {
    const filter = await resolveFilter(pool, request);
    const selects = ({ type, app, slot }: StoredEvent): boolean =>
      (filter.types === undefined || filter.types.has(type)) &&
      (request.app === undefined || app === request.app) &&
      (request.slot === undefined || slot === request.slot) &&
      isInScope({ app, slot }, request.scope);
    let after = startOf(request.cursor, await events.span());
    let sentAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      const { first, last } = await span();
      if (after < first - 1) throw pruned(after);
      const found = after < last ? await events.readAfter(after, BATCH) : [];
      // An event was pruned after the check above.
      if (found.length > 0 && found.at(-1)?.number !== after + found.length) throw pruned(after);
      for (const event of await events.withData(found.filter(selects))) {
        yield { cursor: String(event.number), event };
        sentAt = performance.now();
      }
      after = found.at(-1)?.number ?? after;
      if (performance.now() - sentAt >= HEARTBEAT_MS) {
        yield { cursor: String(after), event: undefined };
        sentAt = performance.now();
      }
      if (found.length < BATCH) await setTimeout(POLL_MS, undefined, { signal }).catch(() => {});
    }
  };
}

/** Returns the number after which the stream begins. @throws HubError `cursor_invalid` */
function startOf(cursor: string, { first, last }: { readonly first: number; readonly last: number }): number {
  if (cursor === '') return last;
  if (cursor === '0') return Math.max(0, first - 1);
  const number = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (number <= last) return number;
  throw new HubError(
    'cursor_invalid',
    'this hub has not sent this cursor. ' +
      'If it was restored from a backup, read the objects again, and start ' +
      'without a cursor',
    { field: 'cursor' },
  );
}

function pruned(cursor: number): HubError {
  return new HubError(
    'cursor_pruned',
    `events after the cursor ${cursor} are pruned. Read the objects again, and start without a cursor`,
    { field: 'cursor' },
  );
}
