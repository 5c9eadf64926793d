// Notifies watchers on every hub when the status of a session changes.
import { EventEmitter } from 'node:events';
import type { Client, Pool } from 'pg';
import { type DatabaseAddress, directAddress } from '../../storage/connection/database-address.ts';
import { dedicatedClient } from '../../storage/connection/dedicated-client.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';

export type SessionEvents = {
  /** Notifies every hub; never rejects. */
  announce(sessionId: string): void;
  /** Resolves when the session may have changed, after five seconds at most, or when `signal` aborts. */
  next(sessionId: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

export type SessionEventsOptions = {
  readonly pool: Pool;
  /** LISTEN needs a dedicated connection. */
  readonly address: DatabaseAddress;
  readonly onError: (error: Error) => void;
};

const CHANNEL = 'charge_session';
const RECONNECT_MS = 1_000;
// A lost notification costs only this delay.
const POLL_MS = 5_000;
/** A pooler in transaction mode does not support LISTEN. */
const POLL_WITHOUT_LISTEN_MS = 1_000;

export function createSessionEvents({ pool, address, onError }: SessionEventsOptions): SessionEvents {
  const changes = new EventEmitter().setMaxListeners(0);
  let client: Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const listening = directAddress(address);
  const canListen = listening.pooler !== 'transaction';

  const reconnect = (error: Error): void => {
    onError(error);
    client?.removeAllListeners();
    client?.on('error', () => {}); // the connection is being replaced
    void client?.end().catch(() => {});
    client = undefined;
    if (!closed) timer ??= setTimeout(connect, RECONNECT_MS);
  };
  const connect = (): void => {
    timer = undefined;
    const fresh = dedicatedClient(listening.url, 'hub events');
    client = fresh;
    fresh.on('error', reconnect);
    fresh.on('notification', ({ payload }) => payload !== undefined && changes.emit(payload));
    fresh
      .connect()
      .then(() => fresh.query(`listen ${CHANNEL}`))
      .catch(reconnect);
  };
  if (canListen) connect();

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
      // In a transaction of its own: a commit with a notification holds a lock that serializes all such
      // commits.
      notify(sessionId).catch(onError);
      if (!canListen) changes.emit(sessionId);
    },

    next(sessionId, signal) {
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(poll);
          changes.off(sessionId, done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const poll = setTimeout(done, canListen ? POLL_MS : POLL_WITHOUT_LISTEN_MS);
        changes.once(sessionId, done);
        signal.addEventListener('abort', done, { once: true });
        if (signal.aborted) done();
      });
    },

    async close() {
      closed = true;
      clearTimeout(timer);
      client?.removeAllListeners();
      client?.on('error', () => {}); // the connection is being closed
      await client?.end().catch(() => {});
    },
  };
}
