// Reads charge sessions for callbacks and settlements, with one prepared statement each, and notifies
// watchers on every hub when the status of a session changes.
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Pool, PoolClient, QueryConfig } from 'pg';
import { withDeadline } from '../../../lib/net/deadline.ts';
import { dedicatedClient, endClient } from '../../storage/connection/client.ts';
import { type DatabaseAddress, directAddress } from '../../storage/connection/database-address.ts';
import type { ChargeStatusName } from '../entities.ts';
import type { Money } from '../money.ts';
import { type CheckoutRequest, RISKY_PAYMENTS } from '../providers/driver.ts';

export type StoredSession = {
  readonly id: string;
  readonly slotId: string;
  /** The name of the slot. */
  readonly slot: string;
  /** Changes with each update of the slot. */
  readonly slotVersion: string;
  readonly gateway: string;
  readonly status: ChargeStatusName;
  /** Whether the provider confirmed the status. */
  readonly verified: boolean;
  readonly statusReason: string;
  /** How often a callback's claim has changed the status. */
  readonly claims: number;
  readonly amount: Money;
  readonly merchantTransactionId: string;
  /** Undefined until the checkout exists. */
  readonly providerPaymentId: string | undefined;
  readonly orderReference: string;
  /** Empty after the customer was erased. */
  readonly customer: CheckoutRequest['customer'];
  /** Of the payment that settled it; undefined unless it was paid. */
  readonly gatewayTransactionId: string | undefined;
  /** The bank's id of that payment, if the provider gives it. */
  readonly bankTransactionId: string | undefined;
  /** The part of that payment that was paid back, in minor units. */
  readonly refundedMinor: bigint;
  /** Counts how often its verification lease was taken. */
  readonly fencingNumber: number;
  /** Milliseconds until a callback may trigger a verification again; 0: now. */
  readonly verificationInMs: number;
  /**
   * Whether a payment that the provider rates risky is held for review: the slot holds such payments, and
   * nobody has released this one.
   */
  readonly holdsRisky: boolean;
  readonly slotDisabled: boolean;
  /** Whether its payment grants what an offer sells. */
  readonly hasPurchase: boolean;
  /** Whether a callback has ever waited for a check of the session. If false, none waits. */
  readonly callbacksWaited: boolean;
  /** Where the customer's browser returns to, without the session's id; null if there is no such address. */
  readonly returnUrl: string | null;
};

type PaymentIds = 'providerPaymentId' | 'gatewayTransactionId' | 'bankTransactionId';
type Row = Omit<StoredSession, 'amount' | 'refundedMinor' | PaymentIds> &
  Record<'amountMinor' | 'refundedMinor' | 'currency', string> &
  Record<PaymentIds, string | null>;

/** Of `charge_session c` and its `slot s`. */
export const SESSION_COLUMNS = `c.id,
  c.slot_id as "slotId", s.name as slot, s.xmin::text as "slotVersion", s.gateway, c.status,
  c.status_verified as verified, c.status_reason as "statusReason", c.status_claims as claims,
  c.amount_minor as "amountMinor", c.currency,
  c.merchant_transaction_id as "merchantTransactionId", c.provider_payment_id as "providerPaymentId",
  c.order_reference as "orderReference", c.customer, c.gateway_transaction_id as "gatewayTransactionId",
  c.bank_transaction_id as "bankTransactionId", c.refunded_minor as "refundedMinor",
  c.fencing_number as "fencingNumber",
  greatest(0, extract(epoch from c.verification_allowed_at - now()) * 1000)::float8 as "verificationInMs",
  coalesce(s.options->>'${RISKY_PAYMENTS}' = 'hold', false) and c.risk_released_at is null as "holdsRisky",
  s.disabled_at is not null as "slotDisabled", c.has_purchase as "hasPurchase", c.return_url as "returnUrl",
  c.callbacks_waited as "callbacksWaited"`;

/** Reads a session by id (charge_session_pkey). */
export function readSession(db: Pool | PoolClient, id: string): Promise<StoredSession | undefined> {
  return readOne(db, { name: 'read_session', condition: 'c.id = $1', values: [id] });
}

/**
 * Locks the rows of the sessions until the end of the transaction, in the order of their ids so that
 * concurrent batches cannot deadlock. With `skipLocked`, rows that another transaction has locked are left
 * out.
 */
export function lockSessions(
  client: PoolClient,
  ids: readonly string[],
  { skipLocked }: { readonly skipLocked: boolean },
): Promise<Map<string, StoredSession>> {
  return readSessionsBy(client, {
    name: skipLocked ? 'lock_sessions' : 'lock_sessions_waiting',
    // charge_session_pkey
    text: `select c.id as key, ${SESSION_COLUMNS} from charge_session c join slot s on s.id = c.slot_id
           where c.id = any($1) order by c.id for no key update of c ${skipLocked ? 'skip locked' : ''}`,
    values: [ids],
  });
}

/** Holds the session's row until the end of the transaction. */
export function lockSession(client: PoolClient, id: string): Promise<StoredSession | undefined> {
  return readOne(client, {
    name: 'lock_session',
    condition: 'c.id = $1 for no key update of c',
    values: [id],
  });
}

export type Wanted = { readonly name: string; readonly condition: string; readonly values: unknown[] };

export async function readOne(db: Pool | PoolClient, wanted: Wanted): Promise<StoredSession | undefined> {
  const [session] = await read(db, wanted);
  return session;
}

export async function read(
  db: Pool | PoolClient,
  { name, condition, values }: Wanted,
): Promise<StoredSession[]> {
  const text = `select ${SESSION_COLUMNS} from charge_session c
                join slot s on s.id = c.slot_id where ${condition}`;
  const { rows } = await db.query<Row>({ name, text, values });
  return rows.map(factsOf);
}

/** By whatever the statement selects as `key`, besides `SESSION_COLUMNS`. */
export async function readSessionsBy(
  db: Pool | PoolClient,
  statement: QueryConfig,
): Promise<Map<string, StoredSession>> {
  const { rows } = await db.query<Row & { key: string }>(statement);
  return new Map(rows.map(({ key, ...row }) => [key, factsOf(row)]));
}

function factsOf({ amountMinor, currency, ...session }: Row): StoredSession {
  return {
    ...session,
    amount: { minor: BigInt(amountMinor), currency },
    refundedMinor: BigInt(session.refundedMinor),
    providerPaymentId: session.providerPaymentId ?? undefined,
    gatewayTransactionId: session.gatewayTransactionId ?? undefined,
    bankTransactionId: session.bankTransactionId ?? undefined,
  };
}

export type SessionEvents = ReturnType<typeof createSessionEvents>;

export type SessionEventsOptions = {
  readonly pool: Pool;
  /** LISTEN needs a dedicated connection. */
  readonly address: DatabaseAddress;
  readonly onError: (error: Error) => void;
};

const CHANNEL = 'charge_session';
/** The name of the event of a session. The prefix is needed: any user of the database can notify `error`. */
const changeOf = (sessionId: string): string => `change of ${sessionId}`;
const RECONNECT_MS = 1_000;
/** Changes within this time are announced in one commit: each one takes a global lock and wakes every hub. */
const ANNOUNCE_EVERY_MS = 100;
// A lost notification costs only this delay.
const POLL_MS = 5_000;
/** A pooler in transaction mode does not support LISTEN. */
const POLL_WITHOUT_LISTEN_MS = 1_000;

export function createSessionEvents({ pool, address, onError }: SessionEventsOptions) {
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
    if (client !== undefined) void endClient(client);
    client = undefined;
    if (!closed) timer ??= setTimeout(connect, RECONNECT_MS);
  };
  const connect = (): void => {
    timer = undefined;
    const fresh = dedicatedClient(listening.url, 'hub events');
    client = fresh;
    fresh.on('error', reconnect);
    fresh.on('notification', ({ payload }) => payload !== undefined && changes.emit(changeOf(payload)));
    fresh
      .connect()
      .then(() => fresh.query(`listen ${CHANNEL}`))
      .catch(reconnect);
  };
  if (canListen) connect();

  const changed = new Set<string>();
  const closing = new AbortController();
  let announcing: Promise<void> | undefined;
  const announceChanged = async (): Promise<void> => {
    while (changed.size > 0) {
      await sleep(ANNOUNCE_EVERY_MS, undefined, { signal: closing.signal }).catch(() => {});
      const ids = [...changed];
      changed.clear();
      // In a transaction of its own: a commit with a notification holds a lock that serializes all such
      // commits.
      const text = 'select pg_notify($1, id) from unnest($2::text[]) as t (id)';
      await pool.query({ name: 'announce', text, values: [CHANNEL, ids] }).catch(onError);
    }
    announcing = undefined;
  };

  return {
    /** Notifies this hub at once, and the others after about a tenth of a second; never rejects. */
    announce(sessionId: string): void {
      changes.emit(changeOf(sessionId));
      changed.add(sessionId);
      announcing ??= announceChanged();
    },

    /** Resolves when the session may have changed, after five seconds at most, or when `signal` aborts. */
    async next(sessionId: string, signal: AbortSignal): Promise<void> {
      const pollMs = canListen ? POLL_MS : POLL_WITHOUT_LISTEN_MS;
      await withDeadline(pollMs, signal, (ending) =>
        once(changes, changeOf(sessionId), { signal: ending }),
      ).catch(() => {});
    },

    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      client?.removeAllListeners();
      client?.on('error', () => {}); // the connection is being closed
      closing.abort();
      await Promise.all([announcing, client && endClient(client)]);
    },
  };
}
