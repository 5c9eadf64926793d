// Creates refunds, once for each idempotency key of a session.
import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { CreateRefundRequest } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import { HubError, type HubErrorCode, unknownId } from '../../errors.ts';
import { recordEvent } from '../../event/outbox.ts';
import { formatId, newUuid, parseId } from '../../ids.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { formatMoney, type Money } from '../money.ts';
import { driverOf } from '../providers/registry.ts';
import { findSame } from '../sessions/insert-session.ts';
import { lockSession, type StoredSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { sumPendingRefunds } from './read-refunds.ts';
import type { SyncRefunds } from './sync-refunds.ts';

export type RefundParameters = Pick<CreateRefundRequest, 'sessionId' | 'reason' | 'idempotencyKey'> & {
  /** Undefined: the rest of the payment. */
  readonly amount: Money | undefined;
};

export type CreateRefundOptions = Pick<PaymentDependencies, 'pool' | 'clock' | 'logger'> & {
  readonly syncRefunds: Pick<SyncRefunds, 'request'>;
  /** Milliseconds to wait for the verification lease. */
  readonly busyWaitMs: number;
};

/**
 * Stores the refund, then requests it. Resolves with its UUID, also if the provider has not answered: the
 * sweep then continues. Rejects with HubError `session_unknown`, `session_not_refundable`,
 * `refund_not_supported`, `refund_exceeds_payment`, `amount_invalid`, `idempotency_key_reused`.
 */
export type CreateRefund = (parameters: RefundParameters, actor: Actor) => Promise<string>;

export function createCreateRefund(options: CreateRefundOptions): CreateRefund {
  const { pool, clock, logger, syncRefunds, busyWaitMs } = options;
  return async (parameters, actor) => {
    const sessionId = parseId('chs', parameters.sessionId);
    const stored =
      sessionId &&
      (await inTransaction(pool, async (client) => {
        const session = await lockSession(client, sessionId);
        return session && findOrInsert(client, session, parameters, { actor, at: clock() });
      }));
    if (!stored) throw unknownId('chs');
    if (stored.isNew) {
      await syncRefunds.request(sessionId, busyWaitMs).catch((err) => {
        const refundId = formatId('rfd', stored.id);
        logger.error({ refundId, err }, 'could not request a refund: the sweep tries again');
      });
    }
    return stored.id;
  };
}

type Context = { readonly actor: Actor; readonly at: Date };

async function findOrInsert(
  client: PoolClient,
  session: StoredSession,
  parameters: RefundParameters,
  context: Context,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { idempotencyKey } = parameters;
  const hash = hashParameters(parameters);
  const existingId =
    idempotencyKey === undefined ? undefined : await findByKey(client, session.id, idempotencyKey, hash);
  if (existingId !== undefined) return { id: existingId, isNew: false };
  const amount = await refundAmount(client, session, parameters.amount);
  const id = newUuid();
  await insert(client, { id, session, amount, hash, parameters }, context);
  return { id, isNew: true };
}

/** The amount to refund. @throws HubError */
async function refundAmount(
  client: PoolClient,
  session: StoredSession,
  requested: Money | undefined,
): Promise<Money> {
  const { status, gateway, amount: paid, refundedMinor } = session;
  const refuse = (code: HubErrorCode, message: string, field = 'amount') =>
    new HubError(code, message, { field });
  if (status !== 'success') {
    const message = `only a paid session can be refunded: the status of this one is ${status}`;
    throw refuse('session_not_refundable', message, 'sessionId');
  }
  if (driverOf(gateway).refunds === undefined) {
    const message = `the hub cannot refund payments of ${gateway}: refund it at the provider`;
    throw refuse('refund_not_supported', message, 'sessionId');
  }
  if (requested !== undefined && requested.currency !== paid.currency) {
    const message = `the payment is in ${paid.currency}: refund it in ${paid.currency}`;
    throw refuse('amount_invalid', message);
  }
  const pendingMinor = await sumPendingRefunds(client, session);
  const leftMinor = paid.minor - refundedMinor - pendingMinor;
  const minor = requested?.minor ?? leftMinor;
  if (requested !== undefined && minor <= 0n) {
    throw refuse('amount_invalid', 'the amount must be more than 0');
  }
  if (minor > 0n && minor <= leftMinor) return { ...paid, minor };
  const pending = pendingMinor > 0n ? ` (${formatMoney({ ...paid, minor: pendingMinor })} is pending)` : '';
  const left = leftMinor > 0n ? formatMoney({ ...paid, minor: leftMinor }) : 'nothing';
  throw refuse('refund_exceeds_payment', `${left} is left of the ${formatMoney(paid)} paid${pending}`);
}

/** @throws HubError `idempotency_key_reused` */
function findByKey(client: PoolClient, sessionId: string, key: string, hash: Buffer) {
  const statement = {
    name: 'refund_by_key',
    // refund_idempotency_key
    text: `select id, request_hash = $3 as same from refund where session_id = $1 and idempotency_key = $2`,
    values: [sessionId, key, hash],
  };
  return findSame(client, statement, 'this idempotency key was used with a different refund of this session');
}

type NewRefund = {
  readonly id: string;
  readonly session: StoredSession;
  readonly amount: Money;
  readonly hash: Buffer;
  readonly parameters: RefundParameters;
};

async function insert(
  client: PoolClient,
  { id, session, amount, hash, parameters }: NewRefund,
  { actor, at }: Context,
): Promise<void> {
  const { reason, idempotencyKey } = parameters;
  await client.query({
    name: 'insert_refund',
    // Due at once, in case this hub dies before it sends the request.
    text: `insert into refund (id, session_id, slot_id, gateway, gateway_transaction_id, kind, origin,
             amount_minor, currency, reason, state, state_reason, idempotency_key, request_hash, created_at,
             next_check_at)
           values ($1, $2, $3, $4, $5, 'refund', 'hub', $6, $7, $8, 'pending', 'not requested yet', $9, $10,
             $11, $11)`,
    values: [
      id,
      session.id,
      session.slotId,
      session.gateway,
      session.gatewayTransactionId ?? '',
      amount.minor,
      amount.currency,
      reason,
      idempotencyKey ?? null,
      idempotencyKey === undefined ? null : hash,
      at,
    ],
  });
  await recordEvent(client, at, { type: 'refund.created', objectId: id, slotId: session.slotId });
  await recordChangeNow(client, actor, at, {
    action: 'refund.create',
    subject: formatId('rfd', id),
    before: null,
    after: { state: 'pending', session: formatId('chs', session.id), amount: formatMoney(amount), reason },
  });
}

function hashParameters({ amount, reason }: RefundParameters): Buffer {
  const parts = [amount && String(amount.minor), amount?.currency, reason];
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}
