// Reads charge sessions for callbacks and settlements, with one prepared statement each. Concurrent lookups
// share a statement.
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { ChargeStatusName } from '../entities.ts';
import type { Money } from '../money.ts';
import { RISKY_PAYMENTS } from '../providers/driver.ts';

export type StoredSession = {
  readonly id: string;
  readonly slotId: string;
  /** The name of the slot. */
  readonly slot: string;
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
  /** Whether its payment grants what an offer sells. */
  readonly hasPurchase: boolean;
  /** Where the customer's browser returns to, without the session's id; null if there is no such address. */
  readonly returnUrl: string | null;
};

type Row = Omit<
  StoredSession,
  'amount' | 'refundedMinor' | 'providerPaymentId' | 'gatewayTransactionId' | 'bankTransactionId'
> & {
  amountMinor: string;
  refundedMinor: string;
  bankTransactionId: string | null;
  currency: string;
  providerPaymentId: string | null;
  gatewayTransactionId: string | null;
};

/** Of `charge_session c` and its `slot s`. */
export const SESSION_COLUMNS = `c.id, c.slot_id as "slotId", s.name as slot, s.gateway,
  c.status, c.status_verified as verified, c.status_reason as "statusReason", c.status_claims as claims,
  c.amount_minor as "amountMinor", c.currency,
  c.merchant_transaction_id as "merchantTransactionId", c.provider_payment_id as "providerPaymentId",
  c.order_reference as "orderReference", c.gateway_transaction_id as "gatewayTransactionId",
  c.bank_transaction_id as "bankTransactionId", c.refunded_minor as "refundedMinor",
  c.fencing_number as "fencingNumber",
  greatest(0, extract(epoch from c.question_after - now()) * 1000)::float8 as "verificationInMs",
  coalesce(s.options->>'${RISKY_PAYMENTS}' = 'hold', false) and c.risk_released_at is null as "holdsRisky",
  c.has_purchase as "hasPurchase", c.return_url as "returnUrl"`;

/** Reads a session by id (charge_session_pkey). */
export function readSession(db: Pool | PoolClient, id: string): Promise<StoredSession | undefined> {
  return readOne(db, { name: 'read_session', condition: 'c.id = $1', values: [id] });
}

/**
 * By the id that the provider gave the hub (charge_session_provider_payment_id_key). Two slots may be
 * accounts at providers that number alike: an id that fits two sessions resolves neither.
 */
async function readSessionByPayment(
  db: Pool,
  gateway: string,
  providerPaymentId: string,
): Promise<StoredSession | undefined> {
  const found = await read(db, {
    name: 'read_session_by_payment',
    condition: 'c.provider_payment_id = $1 and s.gateway = $2 limit 2',
    values: [providerPaymentId, gateway],
  });
  return found.length === 1 ? found[0] : undefined;
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

type Wanted = { readonly name: string; readonly condition: string; readonly values: unknown[] };

async function readOne(db: Pool | PoolClient, wanted: Wanted): Promise<StoredSession | undefined> {
  const [session] = await read(db, wanted);
  return session;
}

async function read(db: Pool | PoolClient, { name, condition, values }: Wanted): Promise<StoredSession[]> {
  const text = `select ${SESSION_COLUMNS} from charge_session c
                join slot s on s.id = c.slot_id where ${condition}`;
  const { rows } = await db.query<Row>({ name, text, values });
  return rows.map(factsOf);
}

type Lookup = Wanted & {
  /** SQL: the rows `t` to find sessions for, with their `position`. */
  readonly wanted: string;
};

/**
 * Many at once: for each position of `wanted`, the session that the condition finds, if any.
 */
async function readSessionsAt(
  db: Pool,
  count: number,
  { name, wanted, condition, values }: Lookup,
): Promise<(StoredSession | undefined)[]> {
  const text = `select t.position as key, ${SESSION_COLUMNS}
                from ${wanted} join charge_session c on true join slot s on s.id = c.slot_id where
                  ${condition}`;
  const found = await readSessionsBy(db, { name, text, values });
  return Array.from({ length: count }, (_, index) => found.get(String(index + 1)));
}

/** By whatever the statement selects as `key`, besides `SESSION_COLUMNS`. */
export async function readSessionsBy(
  db: Pool | PoolClient,
  statement: QueryConfig,
): Promise<Map<string, StoredSession>> {
  const { rows } = await db.query<Row & { key: string }>(statement);
  return new Map(rows.map(({ key, ...row }) => [key, factsOf(row)]));
}

function factsOf({
  amountMinor,
  refundedMinor,
  currency,
  providerPaymentId,
  gatewayTransactionId,
  bankTransactionId,
  ...session
}: Row): StoredSession {
  return {
    ...session,
    gatewayTransactionId: gatewayTransactionId ?? undefined,
    bankTransactionId: bankTransactionId ?? undefined,
    refundedMinor: BigInt(refundedMinor),
    amount: { minor: BigInt(amountMinor), currency },
    providerPaymentId: providerPaymentId ?? undefined,
  };
}

export type FindSession = {
  byId(id: string): Promise<StoredSession | undefined>;
  /** By the id that the hub gave the provider. */
  byTransaction(gateway: string, merchantTransactionId: string): Promise<StoredSession | undefined>;
  /** By the id that the provider gave the hub. */
  byPayment(gateway: string, providerPaymentId: string): Promise<StoredSession | undefined>;
  /** By the id that proved its payment. */
  byProof(gateway: string, proof: string): Promise<StoredSession | undefined>;
};

const BATCHES = { maxSize: 128, maxInFlight: 2 };

export function createFindSession(pool: Pool): FindSession {
  const byId = createBatcher<string, StoredSession | undefined>({
    ...BATCHES,
    run: (ids) =>
      readSessionsAt(pool, ids.length, {
        name: 'read_sessions',
        // charge_session_pkey
        wanted: 'unnest($1::uuid[]) with ordinality as t (id, position)',
        condition: 'c.id = t.id',
        values: [ids],
      }),
  });
  const byTransaction = createBatcher<readonly [gateway: string, id: string], StoredSession | undefined>({
    ...BATCHES,
    run: (names) =>
      readSessionsAt(pool, names.length, {
        name: 'read_sessions_by_transaction',
        // charge_session_merchant_transaction_id_key
        wanted: 'unnest($1::text[], $2::text[]) with ordinality as t (gateway, id, position)',
        condition: 'c.merchant_transaction_id = t.id and s.gateway = t.gateway',
        values: [names.map(([gateway]) => gateway), names.map(([, id]) => id)],
      }),
  });
  return {
    byId,
    byTransaction: (gateway, merchantTransactionId) => byTransaction([gateway, merchantTransactionId]),
    byPayment: (gateway, providerPaymentId) => readSessionByPayment(pool, gateway, providerPaymentId),
    byProof: (gateway, proof) =>
      readOne(pool, {
        name: 'read_session_by_proof',
        // payment_proof_pkey
        condition: `c.id = (select session_id from payment_proof
                            where gateway = $1 and kind = 'payment' and value = $2)`,
        values: [gateway, proof],
      }),
  };
}
