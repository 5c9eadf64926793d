// A charge session as the callback's way needs it: read in one prepared statement, not through the ORM.
import type { Pool, PoolClient } from 'pg';
import type { ChargeStatusName } from './entities.ts';
import type { Money } from './money.ts';

export type SessionFacts = {
  readonly id: string;
  readonly slotId: string;
  readonly gateway: string;
  readonly status: ChargeStatusName;
  readonly amount: Money;
  readonly merchantTransactionId: string;
  /** Undefined until the checkout exists. */
  readonly providerPaymentId: string | undefined;
  readonly orderReference: string;
};

type Row = Omit<SessionFacts, 'amount' | 'providerPaymentId'> & {
  amountMinor: string;
  currency: string;
  providerPaymentId: string | null;
};

const COLUMNS = `c.id, c.slot_id as "slotId", s.gateway, c.status, c.amount_minor as "amountMinor", c.currency,
  c.merchant_transaction_id as "merchantTransactionId", c.provider_payment_id as "providerPaymentId",
  c.order_reference as "orderReference"`;

/** By id (charge_session_pkey). */
export function readSession(db: Pool | PoolClient, id: string): Promise<SessionFacts | undefined> {
  return readOne(db, 'read_session', 'c.id = $1', [id]);
}

/** By the id that the hub gave the provider (charge_session_merchant_transaction_id_key). */
export function readSessionByTransaction(
  db: Pool,
  gateway: string,
  merchantTransactionId: string,
): Promise<SessionFacts | undefined> {
  const condition = 'c.merchant_transaction_id = $1 and s.gateway = $2';
  return readOne(db, 'read_session_by_transaction', condition, [merchantTransactionId, gateway]);
}

/**
 * By the id that the provider gave the hub (charge_session_provider_payment_id_idx). Two slots may be accounts at
 * providers that number alike: an id that fits two sessions resolves neither.
 */
export async function readSessionByPayment(
  db: Pool,
  gateway: string,
  providerPaymentId: string,
): Promise<SessionFacts | undefined> {
  const found = await read(
    db,
    'read_session_by_payment',
    'c.provider_payment_id = $1 and s.gateway = $2 limit 2',
    [providerPaymentId, gateway],
  );
  return found.length === 1 ? found[0] : undefined;
}

/** Holds the session's row until the end of the transaction. */
export function lockSession(client: PoolClient, id: string): Promise<SessionFacts | undefined> {
  return readOne(client, 'lock_session', 'c.id = $1 for no key update of c', [id]);
}

async function readOne(db: Pool | PoolClient, name: string, condition: string, values: unknown[]) {
  const [session] = await read(db, name, condition, values);
  return session;
}

async function read(
  db: Pool | PoolClient,
  name: string,
  condition: string,
  values: unknown[],
): Promise<SessionFacts[]> {
  const text = `select ${COLUMNS} from charge_session c join slot s on s.id = c.slot_id where ${condition}`;
  const { rows } = await db.query<Row>({ name, text, values });
  return rows.map(({ amountMinor, currency, providerPaymentId, ...session }) => ({
    ...session,
    amount: { minor: BigInt(amountMinor), currency },
    providerPaymentId: providerPaymentId ?? undefined,
  }));
}
