// Creates charge sessions, once for each idempotency key.
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { HubError } from '../errors.ts';
import { formatId, newUuid } from '../ids.ts';
import { checkAmount } from './charge-amount.ts';
import {
  type CheckoutlessSession,
  type CheckoutOptions,
  createCheckout,
  hasCheckout,
} from './create-checkout.ts';
import type { Money } from './money.ts';
import type { CheckoutRequest } from './provider.ts';
import type { VerificationLease } from './verification-lease.ts';

export type CreateSessionRequest = {
  readonly slot: string;
  readonly amount: Money;
  readonly orderReference: string;
  readonly customer: CheckoutRequest['customer'];
  readonly metadata: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | undefined;
};

export type CreateSessionOptions = CheckoutOptions & {
  readonly lease: VerificationLease;
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
      work: (held) =>
        createCheckout(options, held, session, { ...request, callbackUrl: callbackUrlOf(session, baseUrl) }),
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

type Inserted = CheckoutlessSession & { readonly checkoutUrl: string | null };

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

function callbackUrlOf({ id, gateway }: Inserted, baseUrl: string): string {
  return `${baseUrl.replace(/\/+$/, '')}/v1/webhooks/${gateway}?session_id=${formatId('chs', id)}`;
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
