// Inserts a charge session, or finds the one that an earlier call with the same idempotency key inserted.
import { createHash } from 'node:crypto';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid, type Uuid } from '../../ids.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { PaymentMetrics } from '../metrics.ts';
import { formatMoney, type Money, sameMoney } from '../money.ts';
import type { PurchaseRequest, Quote, Sales } from '../order-interface.ts';
import type { CheckoutRequest } from '../providers/driver.ts';
import type { SessionSlot } from './find-slot.ts';

export type CreateSessionRequest = {
  readonly slot: string;
  /** Checked. Undefined for the price of the purchase. */
  readonly amount: Money | undefined;
  readonly orderReference: string;
  readonly customer: CheckoutRequest['customer'];
  readonly metadata: Readonly<Record<string, string>>;
  readonly idempotencyKey: string | undefined;
  /** Undefined for a session without an offer. */
  readonly purchase: PurchaseRequest | undefined;
  /** The apps that the caller's token is limited to; undefined if it is not limited. */
  readonly callerApps: readonly string[] | undefined;
  /** As the caller sent it; empty for none. */
  readonly returnUrl: string;
  /** Empty for the default. */
  readonly language: string;
};

export type InsertOptions = {
  readonly pool: Pool;
  readonly slot: SessionSlot;
  readonly sales: Pick<Sales, 'quote'>;
  /** The checked return URL. */
  readonly returnUrl: string | null;
  readonly actor: Actor;
  readonly now: Date;
  /** When the sweep first verifies it. */
  readonly firstCheck: Date | undefined;
  readonly metrics: Pick<PaymentMetrics, 'sessionCreated'>;
};

/**
 * Resolves with the id.
 *
 * @throws HubError `slot_disabled`, `amount_invalid` without an amount and an offer,
 * `idempotency_key_reused`, and those of `Sales.quote`
 */
export async function findOrInsertSession(
  request: CreateSessionRequest,
  options: InsertOptions,
): Promise<string> {
  const { idempotencyKey } = request;
  const requestHash = hashRequest(request);
  const findEarlier = () =>
    idempotencyKey === undefined
      ? undefined
      : findByKey(options.pool, { slotId: options.slot.id, key: idempotencyKey }, requestHash);
  const earlier = await findEarlier();
  if (earlier !== undefined) return earlier;
  if (options.slot.disabled) {
    throw new HubError('slot_disabled', 'the slot is disabled', { field: 'slot' });
  }
  // Only for a new session: a repeated request gets its session, even if the offer has changed since.
  const { amount, quote } = await priceOf(request, options.sales);
  const inserted = await insert(request, { ...options, amount, quote, requestHash });
  if (inserted !== undefined) options.metrics.sessionCreated(request.slot);
  const id = inserted ?? (await findEarlier());
  if (id === undefined) throw new Error('a charge session was neither inserted nor found');
  return id;
}

type Priced = { readonly amount: Money; readonly quote: Quote | undefined };

async function priceOf(
  { amount, purchase, customer, callerApps }: CreateSessionRequest,
  sales: Pick<Sales, 'quote'>,
): Promise<Priced> {
  if (purchase === undefined) {
    if (amount !== undefined) return { amount, quote: undefined };
    throw new HubError('amount_invalid', 'set the amount, or an offer', { field: 'amount' });
  }
  const currency = purchase.currency || (amount?.currency ?? '');
  const { name = '', email = '' } = customer;
  const quote = await sales.quote({ ...purchase, currency }, { name, email, callerApps });
  if (amount === undefined || sameMoney(amount, quote.amount)) return { amount: quote.amount, quote };
  const price = formatMoney(quote.amount);
  const message = `${quote.quantity} × ${quote.offer} costs ${price}: leave out the amount`;
  throw new HubError('amount_invalid', message, { field: 'amount' });
}

/** The id by which providers know a session: its public id without the prefix, in capitals. */
export function merchantTransactionId(id: Uuid): string {
  return formatId('chs', id).slice('chs_'.length).toUpperCase();
}

/** Resolves with undefined if a concurrent call with the same idempotency key inserted it first. */
async function insert(
  request: CreateSessionRequest,
  options: InsertOptions & Priced & { readonly requestHash: Buffer },
): Promise<string | undefined> {
  const { pool, slot, actor, now, firstCheck, returnUrl, amount, quote, requestHash } = options;
  const { orderReference, customer, metadata, idempotencyKey, language } = request;
  const id = newUuid();
  const statement = {
    name: 'insert_session',
    // charge_session_idempotency_key. The first check is set now: the hub may die before the checkout.
    text: `insert into charge_session (id, slot_id, status, status_verified, status_reason,
             status_changed_at, amount_minor, currency, order_reference, customer, metadata,
             merchant_transaction_id, idempotency_key, request_hash, created_at, checks, next_check_at,
             has_purchase, return_url, language)
           values ($1, $2, 'pending', false, 'no checkout yet', $3, $4, $5, $6, $7, $8, $9, $10, $11, $3,
             0, $12, $13, $14, $15)
           on conflict (slot_id, idempotency_key) where idempotency_key is not null do nothing`,
    values: [
      id,
      slot.id,
      now,
      amount.minor,
      amount.currency,
      orderReference,
      JSON.stringify(customer),
      JSON.stringify(metadata),
      merchantTransactionId(id),
      idempotencyKey ?? null,
      idempotencyKey === undefined ? null : requestHash,
      firstCheck ?? null,
      quote !== undefined,
      returnUrl,
      language || null,
    ],
  };
  return insertSession(
    pool,
    statement,
    { id, slot: request.slot, amount, quote, orderReference },
    { actor, now },
  );
}

type NewSession = Priced & {
  readonly id: string;
  /** The name of the slot. */
  readonly slot: string;
  readonly orderReference: string;
};

/** Resolves with undefined if the statement inserts nothing. */
export function insertSession(
  pool: Pool,
  statement: QueryConfig,
  { id, slot, amount, quote, orderReference }: NewSession,
  context: { readonly actor: Actor; readonly now: Date },
): Promise<string | undefined> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(statement);
    if (rowCount === 0) return undefined;
    await quote?.insert(client, id, context);
    await recordChangeNow(client, context.actor, context.now, {
      action: 'charge_session.create',
      subject: formatId('chs', id),
      before: null,
      after: {
        status: 'pending',
        slot,
        amount: formatMoney(amount),
        orderReference,
        ...(quote && { offer: quote.offer, quantity: quote.quantity }),
      },
    });
    return id;
  });
}

/** Keys are unique per slot, so a token for one slot learns nothing about the keys of another. */
function findByKey(
  pool: Pool,
  { slotId, key }: { slotId: string; key: string },
  requestHash: Buffer,
): Promise<string | undefined> {
  const statement = {
    name: 'session_by_key',
    // charge_session_idempotency_key
    text: `select id, request_hash = $3 as same from charge_session
           where slot_id = $1 and idempotency_key = $2`,
    values: [slotId, key, requestHash],
  };
  return findSame(pool, statement, 'this idempotency key was used with a different request for this slot');
}

/** @throws HubError `idempotency_key_reused` if the request with the key was not the `same` */
export async function findSame(
  db: Pool | PoolClient,
  statement: QueryConfig,
  reused: string,
): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string; same: boolean }>(statement);
  const [row] = rows;
  if (row === undefined || row.same) return row?.id;
  const message = `${reused}: repeat that request or use a new key`;
  throw new HubError('idempotency_key_reused', message, { field: 'idempotencyKey' });
}

/** Equal requests have equal hashes, in any order of their maps. */
function hashRequest(request: CreateSessionRequest): Buffer {
  const { slot, amount, orderReference, customer, metadata, purchase, returnUrl, language } = request;
  const parts: unknown[] = [
    slot,
    String(amount?.minor),
    amount?.currency,
    orderReference,
    sorted(customer),
    sorted(metadata),
  ];
  if (purchase) parts.push(purchase);
  if (returnUrl || language) parts.push(returnUrl, language);
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}

function sorted(map: Readonly<Record<string, string | undefined>>): [string, string | undefined][] {
  return Object.entries(map).sort(([one], [other]) => (one < other ? -1 : 1));
}
