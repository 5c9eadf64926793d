// Creates charge sessions, and their checkouts at the provider.
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId, newUuid } from '../ids.ts';
import type { Providers } from './ask-provider.ts';
import { checkAmount } from './charge-amount.ts';
import type { Money } from './money.ts';
import { type CheckoutRequest, ProviderRefused, ProviderUnavailable } from './provider.ts';
import { nextCheck, type SweepSchedule } from './sweep.ts';
import type { Lease, VerificationLease } from './verification-lease.ts';

export type CreateSessionRequest = {
  readonly slot: string;
  readonly amount: Money;
  readonly orderReference: string;
  readonly customer: CheckoutRequest['customer'];
  readonly metadata: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | undefined;
};

export type CreateSessionOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly lease: VerificationLease;
  readonly providers: Providers;
  readonly schedule: SweepSchedule;
  /** Milliseconds that a call waits for another one with the same idempotency key. */
  readonly busyWaitMs: number;
  /** The base address the outside world knows the gateway by; undefined as long as nobody has said it. */
  readonly publicUrl: () => string | undefined;
};

/**
 * Resolves with the session's id. Rejects with HubError `slot_unknown`, `slot_disabled`, `amount_invalid`,
 * `public_url_unset`, `idempotency_key_reused`, `provider_refused` or `provider_unavailable`.
 */
export function createCreateSession(options: CreateSessionOptions) {
  const { pool, clock, lease } = options;
  return async (request: CreateSessionRequest): Promise<string> => {
    const baseUrl = options.publicUrl();
    if (baseUrl === undefined) {
      throw new HubError(
        'public_url_unset',
        'set HUB_PUBLIC_URL, the address at which providers reach the gateway',
      );
    }
    checkAmount(request.amount);
    const session = await insertOnce(pool, request, clock());
    if (session.checkoutUrl !== null) return session.id;
    // Repeats with the same idempotency key may come at the same time; one of them creates the checkout.
    const created = await lease.run(session.id, {
      work: (held) => createCheckout(options, held, session, request, baseUrl),
      waitMs: options.busyWaitMs,
      inVain: async () => (await hasCheckout(pool, session.id)) || undefined,
    });
    if (created === undefined) {
      throw new HubError(
        'provider_unavailable',
        'the checkout is being created by another call; repeat this one',
      );
    }
    return session.id;
  };
}

type Inserted = {
  readonly id: string;
  readonly slotId: string;
  readonly gateway: string;
  readonly merchantTransactionId: string;
  readonly createdAt: Date;
  readonly checkoutUrl: string | null;
};

/** Inserts the session, or finds the one of an earlier call with the same idempotency key. */
async function insertOnce(pool: Pool, request: CreateSessionRequest, now: Date): Promise<Inserted> {
  const { slot, amount, orderReference, customer, metadata, idempotencyKey } = request;
  const { rows: slots } = await pool.query<{ id: string; gateway: string; disabled: boolean }>({
    name: 'slot_for_session',
    text: 'select id, gateway, disabled_at is not null as disabled from slot where name = $1',
    values: [slot],
  });
  const [found] = slots;
  if (found === undefined)
    throw new HubError('slot_unknown', 'there is no slot with this name', { field: 'slot' });
  const requestHash = hashRequest(request);
  if (idempotencyKey !== undefined) {
    const earlier = await findByKey(pool, idempotencyKey, requestHash);
    if (earlier !== undefined) return { ...earlier, slotId: found.id, gateway: found.gateway };
  }
  if (found.disabled) throw new HubError('slot_disabled', 'the slot is disabled', { field: 'slot' });

  const id = newUuid();
  const merchantTransactionId = formatId('chs', id).slice('chs_'.length).toUpperCase();
  const { rowCount } = await pool.query({
    name: 'insert_session',
    text: `insert into charge_session (id, slot_id, status, status_reason, status_changed_at, amount_minor, currency,
             order_reference, customer, metadata, merchant_transaction_id, idempotency_key, request_hash, created_at,
             checks)
           values ($1, $2, 'pending', 'waiting for the customer', $3, $4, $5, $6, $7, $8, $9, $10, $11, $3, 0)
           on conflict do nothing`,
    values: [
      id,
      found.id,
      now,
      amount.minor,
      amount.currency,
      orderReference,
      JSON.stringify(customer),
      JSON.stringify(metadata),
      merchantTransactionId,
      idempotencyKey ?? null,
      idempotencyKey === undefined ? null : requestHash,
    ],
  });
  if (rowCount === 0 && idempotencyKey !== undefined) {
    const winner = await findByKey(pool, idempotencyKey, requestHash);
    if (winner !== undefined) return { ...winner, slotId: found.id, gateway: found.gateway };
  }
  return {
    id,
    slotId: found.id,
    gateway: found.gateway,
    merchantTransactionId,
    createdAt: now,
    checkoutUrl: null,
  };
}

async function findByKey(pool: Pool, key: string, requestHash: Buffer) {
  const { rows } = await pool.query({
    name: 'session_by_key',
    // charge_session_idempotency_key
    text: `select id, merchant_transaction_id as "merchantTransactionId", checkout_url as "checkoutUrl",
                  (extract(epoch from created_at) * 1000)::float8 as "createdAtMs", request_hash = $2 as same
           from charge_session where idempotency_key = $1`,
    values: [key, requestHash],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  if (!row.same) {
    throw new HubError('idempotency_key_reused', 'this idempotency key came with another request before', {
      field: 'idempotencyKey',
    });
  }
  const { createdAtMs, same: _, ...rest } = row;
  return { ...rest, createdAt: new Date(createdAtMs) } as Omit<Inserted, 'slotId' | 'gateway'>; // as selected
}

async function createCheckout(
  { pool, clock, providers, schedule }: CreateSessionOptions,
  { within }: Lease,
  session: Inserted,
  { amount, orderReference, customer }: CreateSessionRequest,
  baseUrl: string,
): Promise<true> {
  const sessionId = formatId('chs', session.id);
  if (await hasCheckout(pool, session.id)) return true;
  const callbackUrl = `${baseUrl.replace(/\/+$/, '')}/v1/webhooks/${session.gateway}?session_id=${sessionId}`;
  try {
    const { driver, access } = await providers.forSlot(session.slotId, () => {});
    const { merchantTransactionId } = session;
    const checkout = await driver.createCheckout(
      { ...access, http: within(access.http) },
      {
        sessionId,
        merchantTransactionId,
        amount,
        callbackUrl,
        orderReference,
        customer,
      },
    );
    await pool.query(
      // A session that failed only because the provider refused its first checkout has another chance.
      `update charge_session
       set provider_payment_id = $2, checkout_url = $3, next_check_at = $4, status = 'pending',
           status_reason = 'waiting for the customer'
       where id = $1 and checkout_url is null`,
      [
        session.id,
        checkout.providerPaymentId,
        checkout.checkoutUrl,
        nextCheck(schedule, session.createdAt, clock()) ?? null,
      ],
    );
    return true;
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw new HubError('provider_unavailable', error.message);
    if (!(error instanceof ProviderRefused)) throw error;
    await pool.query(
      `update charge_session set status = 'failed', status_reason = $2, status_changed_at = $3 where id = $1`,
      [session.id, error.message, clock()],
    );
    throw new HubError('provider_refused', error.message);
  }
}

async function hasCheckout(pool: Pool, id: string): Promise<boolean> {
  const { rows } = await pool.query('select checkout_url from charge_session where id = $1', [id]);
  return rows[0]?.checkout_url !== null;
}

/** Two requests are the same if they ask for the same, however their maps are ordered. */
function hashRequest({ slot, amount, orderReference, customer, metadata }: CreateSessionRequest): Buffer {
  const facts = [
    slot,
    String(amount.minor),
    amount.currency,
    orderReference,
    sorted(customer),
    sorted(metadata),
  ];
  return createHash('sha256').update(JSON.stringify(facts)).digest();
}

function sorted(map: Readonly<Record<string, string | undefined>>): [string, string | undefined][] {
  return Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1));
}
