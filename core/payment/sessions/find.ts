// Finds the sessions that callbacks name. Concurrent lookups share a statement.
import type { Pool } from 'pg';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { readSessionByPayment, readSessionsAt, type SessionFacts } from './row.ts';

export type FindSession = {
  byId(id: string): Promise<SessionFacts | undefined>;
  /** By the id that the hub gave the provider. */
  byTransaction(gateway: string, merchantTransactionId: string): Promise<SessionFacts | undefined>;
  /** By the id that the provider gave the hub. */
  byPayment(gateway: string, providerPaymentId: string): Promise<SessionFacts | undefined>;
};

const BATCHES = { maxSize: 128, maxInFlight: 2 };

export function createFindSession(pool: Pool): FindSession {
  const byId = createBatcher<string, SessionFacts | undefined>({
    ...BATCHES,
    run: (ids) =>
      readSessionsAt(pool, ids.length, {
        name: 'read_sessions',
        // charge_session_pkey
        asked: 'unnest($1::uuid[]) with ordinality as t (id, position)',
        condition: 'c.id = t.id',
        values: [ids],
      }),
  });
  const byTransaction = createBatcher<readonly [gateway: string, id: string], SessionFacts | undefined>({
    ...BATCHES,
    run: (asked) =>
      readSessionsAt(pool, asked.length, {
        name: 'read_sessions_by_transaction',
        // charge_session_merchant_transaction_id_key
        asked: 'unnest($1::text[], $2::text[]) with ordinality as t (gateway, id, position)',
        condition: 'c.merchant_transaction_id = t.id and s.gateway = t.gateway',
        values: [asked.map(([gateway]) => gateway), asked.map(([, id]) => id)],
      }),
  });
  return {
    byId,
    byTransaction: (gateway, merchantTransactionId) => byTransaction([gateway, merchantTransactionId]),
    byPayment: (gateway, providerPaymentId) => readSessionByPayment(pool, gateway, providerPaymentId),
  };
}
