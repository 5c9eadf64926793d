// Reads the refunds of a session, under its lock or its verification lease.
import type { Pool, PoolClient } from 'pg';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import type { Refund } from '../entities.ts';
import type { Money } from '../money.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';

export type StoredRefund = Pick<
  Refund,
  'id' | 'gatewayTransactionId' | 'kind' | 'origin' | 'reason' | 'state' | 'stateReason' | 'requests'
> & {
  readonly amount: Money;
  readonly createdAt: Date;
  /** Undefined until the provider has answered. */
  readonly gatewayRefundId: string | undefined;
  /** When the hub last requested it. Undefined if the hub has to request it, or if the provider made it. */
  readonly requestedAt: Date | undefined;
  /** The time of the provider's first answer without it. */
  readonly missingSince: Date | undefined;
};

type Row = Omit<StoredRefund, 'amount' | 'gatewayRefundId' | 'createdAt' | 'requestedAt' | 'missingSince'> & {
  amountMinor: string;
  currency: string;
  gatewayRefundId: string | null;
  createdAtMs: number;
  requestedAtMs: number | null;
  missingSinceMs: number | null;
};

/** The refunds of a session, oldest first. */
export async function readSessionRefunds(db: Pool | PoolClient, sessionId: string): Promise<StoredRefund[]> {
  const { rows } = await db.query<Row>({
    name: 'session_refunds',
    // refund_session_idx
    text: `select id, gateway_transaction_id as "gatewayTransactionId", kind, origin,
                  amount_minor as "amountMinor", currency, reason, state, state_reason as "stateReason",
                  gateway_refund_id as "gatewayRefundId", requests, ${epochMs('created_at')} as "createdAtMs",
                  ${epochMs('requested_at')} as "requestedAtMs",
                  ${epochMs('missing_since')} as "missingSinceMs"
           from refund where session_id = $1 order by id`,
    values: [sessionId],
  });
  return rows.map(
    ({ amountMinor, currency, gatewayRefundId, createdAtMs, requestedAtMs, missingSinceMs, ...row }) => ({
      ...row,
      amount: { minor: BigInt(amountMinor), currency },
      gatewayRefundId: gatewayRefundId ?? undefined,
      createdAt: dateOf(createdAtMs),
      requestedAt: dateOf(requestedAtMs) ?? undefined,
      missingSince: dateOf(missingSinceMs) ?? undefined,
    }),
  );
}

/** The sum of the pending refunds and disputes of a session's present payment, in minor units. */
export async function sumPendingRefunds(
  client: PoolClient,
  { id, gatewayTransactionId = '' }: Pick<StoredSession, 'id' | 'gatewayTransactionId'>,
): Promise<bigint> {
  const { rows } = await client.query<{ sum: string }>({
    name: 'sum_pending_refunds',
    // refund_session_idx
    text: `select coalesce(sum(amount_minor), 0)::text as sum from refund
           where session_id = $1 and gateway_transaction_id = $2 and state = 'pending'`,
    values: [id, gatewayTransactionId],
  });
  return BigInt(rows[0]?.sum ?? 0);
}

/**
 * The sum of the refunds of one payment that the usage log deducts, in minor units. Pruned entries do not
 * count.
 */
export async function sumDeductedRefunds(
  client: PoolClient,
  { id }: Pick<StoredSession, 'id'>,
  gatewayTransactionId: string,
): Promise<bigint> {
  const { rows } = await client.query<{ sum: string }>({
    name: 'sum_deducted_refunds',
    // refund_session_idx, usage_log_pkey. The entry of a refund has the id of the refund.
    text: `select coalesce(-sum(u.amount_minor), 0)::text as sum
           from refund r join usage_log u on u.id = r.id and u.kind = 'refund'
           where r.session_id = $1 and r.gateway_transaction_id = $2`,
    values: [id, gatewayTransactionId],
  });
  return BigInt(rows[0]?.sum ?? 0);
}
