// Closes the duplicate payments that settle their sessions now, after the first payment was reversed.
import type { PoolClient } from 'pg';
import type { Change } from '../../audit/record.ts';
import { formatId } from '../../ids.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';

const SETTLES_NOW = 'it settles the session now';

type LaterPayment = {
  readonly session: Pick<StoredSession, 'id' | 'gateway'>;
  readonly gatewayTransactionId: string;
};

/** Later payments that settle their sessions are no longer duplicate payments. Returns the audit entries. */
export async function closeDuplicates(
  client: PoolClient,
  later: readonly LaterPayment[],
  at: Date,
): Promise<readonly Change[]> {
  if (later.length === 0) return [];
  const { rows } = await client.query<{ id: string; sessionId: string }>(
    // duplicate_payment_transaction_key
    `update duplicate_payment d set resolved_at = $4, resolution = $5
     from unnest($1::uuid[], $2::text[], $3::text[]) as t (session_id, gateway, gateway_transaction_id)
     where d.gateway = t.gateway and d.gateway_transaction_id = t.gateway_transaction_id
       and d.resolved_at is null
     returning d.id, t.session_id as "sessionId"`,
    [
      later.map(({ session }) => session.id),
      later.map(({ session }) => session.gateway),
      later.map(({ gatewayTransactionId }) => gatewayTransactionId),
      at,
      SETTLES_NOW,
    ],
  );
  return rows.map(({ id, sessionId }) => ({
    action: 'duplicate_payment.resolve',
    subject: formatId('dup', id),
    before: { resolved: false },
    after: { resolved: true, resolution: SETTLES_NOW, session: formatId('chs', sessionId) },
  }));
}
