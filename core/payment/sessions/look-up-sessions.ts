// Looks up the sessions that callbacks name, by one id. Concurrent lookups share a statement.
import type { Pool } from 'pg';
import { createBatcher } from '../../storage/sql/batcher.ts';
import {
  read,
  readOne,
  readSessionsBy,
  SESSION_COLUMNS,
  type StoredSession,
  type Wanted,
} from './read-sessions.ts';

export type FindSession = ReturnType<typeof createFindSession>;

export function createFindSession(pool: Pool) {
  const byId = createBatcher<string, StoredSession | undefined>({
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
    /** By the id that the hub gave the provider. */
    byTransaction: (gateway: string, id: string) => byTransaction([gateway, id]),
    /**
     * By the id that the provider gave the hub. Two slots may be accounts at providers that number alike: an
     * id of two sessions resolves neither.
     */
    async byPayment(gateway: string, providerPaymentId: string): Promise<StoredSession | undefined> {
      const found = await read(pool, {
        name: 'read_session_by_payment',
        // charge_session_provider_payment_id_key
        condition: 'c.provider_payment_id = $1 and s.gateway = $2 limit 2',
        values: [providerPaymentId, gateway],
      });
      return found.length === 1 ? found[0] : undefined;
    },
    /** By the id that proved its payment. */
    byProof: (gateway: string, proof: string): Promise<StoredSession | undefined> =>
      readOne(pool, {
        name: 'read_session_by_proof',
        // payment_proof_pkey
        condition: `c.id = (select session_id from payment_proof
                            where gateway = $1 and kind = 'payment' and value = $2)`,
        values: [gateway, proof],
      }),
  };
}

type Lookup = Wanted & {
  /** SQL: the rows `t` to find sessions for, with their `position`. */
  readonly wanted: string;
};

/** Many at once: for each position of `wanted`, the session that the condition finds, if any. */
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
