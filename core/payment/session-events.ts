// Tells watchers, on every hub, that the status of a session has changed.
import { EventEmitter } from 'node:events';
import type { Client, Pool } from 'pg';
import { createBatcher } from '../storage/batcher.ts';
import { type DatabaseAddress, directAddress } from '../storage/database-address.ts';
import { lastingClient } from '../storage/lasting-client.ts';

export type SessionEvents = {
  /** Tells every hub; never rejects. */
  announce(sessionId: string): void;
  /** Resolves when the session may have changed, at the latest after a few seconds, or when `signal` aborts. */
  next(sessionId: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

export type SessionEventsOptions = {
  readonly pool: Pool;
  /** Listening takes a connection of its own. */
  readonly address: DatabaseAddress;
  readonly onError: (error: Error) => void;
};

const CHANNEL = 'charge_session';
const RECONNECT_MS = 1_000;
// What a lost notification costs: nothing but this delay.
const POLL_MS = 5_000;
/** Where none can be heard, because a pooler is in the way. */
const POLL_UNHEARD_MS = 1_000;

export function createSessionEvents({ pool, address, onError }: SessionEventsOptions): SessionEvents {
  const changes = new EventEmitter().setMaxListeners(0);
  let client: Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const listening = directAddress(address);
  const isHeard = listening.pooler !== 'transaction'; // LISTEN takes a session

  const reconnect = (error: Error): void => {
    onError(error);
    client?.removeAllListeners();
    client?.on('error', () => {}); // it is given up already
    void client?.end().catch(() => {});
    client = undefined;
    if (!closed) timer ??= setTimeout(connect, RECONNECT_MS);
  };
  const connect = (): void => {
    timer = undefined;
    const fresh = lastingClient(listening.url, 'hub events');
    client = fresh;
    fresh.on('error', reconnect);
    fresh.on('notification', ({ payload }) => payload !== undefined && changes.emit(payload));
    fresh
      .connect()
      .then(() => fresh.query(`listen ${CHANNEL}`))
      .catch(reconnect);
  };
  if (isHeard) connect();

  const notify = createBatcher<string, void>({
    maxSize: 128,
    maxInFlight: 1,
    run: async (ids) => {
      const text = 'select pg_notify($1, id) from unnest($2::text[]) as t (id)';
      await pool.query({ name: 'announce', text, values: [CHANNEL, ids] });
      return ids.map(() => undefined);
    },
  });

  return {
    announce(sessionId) {
      // After the commit and by itself: within it, notifying would queue up all commits behind each other.
      notify(sessionId).catch(onError);
      if (!isHeard) changes.emit(sessionId);
    },

    next(sessionId, signal) {
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(poll);
          changes.off(sessionId, done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const poll = setTimeout(done, isHeard ? POLL_MS : POLL_UNHEARD_MS);
        changes.once(sessionId, done);
        signal.addEventListener('abort', done, { once: true });
        if (signal.aborted) done();
      });
    },

    async close() {
      closed = true;
      clearTimeout(timer);
      client?.removeAllListeners();
      client?.on('error', () => {}); // it is going anyway
      await client?.end().catch(() => {});
    },
  };
}
