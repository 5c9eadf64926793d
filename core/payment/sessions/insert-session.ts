// Inserts a charge session, or finds the one that an earlier call with the same idempotency key inserted.
import { createHash } from 'node:crypto';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import type { CreateChargeSessionRequest } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
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

export type CreateSessionRequest = Pick<
  CreateChargeSessionRequest,
  'slot' | 'orderReference' | 'metadata' | 'idempotencyKey' | 'returnUrl' | 'language'
> & {
  /** Checked. Undefined for the price of the purchase. */
  readonly amount: Money | undefined;
  readonly customer: CheckoutRequest['customer'];
  /** Undefined for a session without an offer. */
  readonly purchase: PurchaseRequest | undefined;
  /** The apps that the caller's token is limited to; undefined if it is not limited. */
  readonly callerApps: readonly string[] | undefined;
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
  const session = {
    ...request,
    ...(await priceOf(request, options.sales)),
    requestHash,
    slotId: options.slot.id,
    returnUrl: options.returnUrl,
    statusReason: 'no checkout yet',
    firstCheck: options.firstCheck,
  };
  const inserted = await insertSession(options.pool, session, options);
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
function merchantTransactionId(id: Uuid): string {
  return formatId('chs', id).slice('chs_'.length).toUpperCase();
}

export type NewSession = Priced &
  Pick<CreateSessionRequest, 'slot' | 'orderReference' | 'customer' | 'metadata'> & {
    /** UUID of the slot. */
    readonly slotId: string;
    readonly statusReason: string;
    /** The first check by the sweep. Set at once, in case the hub dies before the checkout exists. */
    readonly firstCheck: Date | undefined;
    readonly idempotencyKey?: string | undefined;
    readonly requestHash?: Buffer;
    /** Undefined until the checkout exists. */
    readonly providerPaymentId?: string;
    readonly returnUrl?: string | null;
    readonly language?: string;
  };

/**
 * Resolves with the id; with undefined if another call has inserted a session with the idempotency key or the
 * payment id.
 */
export function insertSession(
  pool: Pool,
  session: NewSession,
  { actor, now }: { readonly actor: Actor; readonly now: Date },
): Promise<string | undefined> {
  const { slot, amount, quote, orderReference, idempotencyKey } = session;
  const id = newUuid();
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query({
      name: 'insert_session',
      // charge_session_idempotency_key, charge_session_provider_payment_id_key
      text: `insert into charge_session (id, slot_id, status, status_verified, status_reason,
               status_changed_at, amount_minor, currency, order_reference, customer, metadata,
               merchant_transaction_id, provider_payment_id, idempotency_key, request_hash, created_at,
               checks, next_check_at, has_purchase, return_url, language)
             values ($1, $2, 'pending', false, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $4, 0, $14,
               $15, $16, $17)
             on conflict do nothing`,
      values: [
        id,
        session.slotId,
        session.statusReason,
        now,
        amount.minor,
        amount.currency,
        orderReference,
        JSON.stringify(session.customer),
        JSON.stringify(session.metadata),
        merchantTransactionId(id),
        session.providerPaymentId ?? null,
        idempotencyKey ?? null,
        idempotencyKey === undefined ? null : session.requestHash,
        session.firstCheck ?? null,
        quote !== undefined,
        session.returnUrl ?? null,
        session.language || null,
      ],
    });
    if (rowCount === 0) return undefined;
    await quote?.insert(client, id, { actor, now });
    await recordChangeNow(client, actor, now, {
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
