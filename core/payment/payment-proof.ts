// Proofs of payment: what has paid one session pays no other, not even after a reversal.
import type { PoolClient } from 'pg';
import type { PaymentProof } from './provider.ts';
import type { SessionFacts } from './session-facts.ts';

/**
 * Notes that the proof is the session's. `again`: a part of it paid this session before. `used`: a part of it paid
 * another session, and nothing is noted.
 */
export async function claimProof(
  client: PoolClient,
  { id, gateway }: SessionFacts,
  { gatewayTransactionId, bankTransactionId }: PaymentProof,
): Promise<'new' | 'again' | 'used'> {
  const kinds = bankTransactionId ? ['bank', 'payment'] : ['payment'];
  const values = bankTransactionId ? [bankTransactionId, gatewayTransactionId] : [gatewayTransactionId];
  const { rows: claimed } = await client.query<{ kind: string; value: string }>(
    // payment_proof_pkey. Whoever settles another session by the same proof waits here, all in the same order.
    `insert into payment_proof (gateway, kind, value, session_id)
     select $1, kind, value, $2 from unnest($3::text[], $4::text[]) as t (kind, value) order by kind, value
     on conflict do nothing
     returning kind, value`,
    [gateway, id, kinds, values],
  );
  if (claimed.length === kinds.length) return 'new';
  // A statement of its own sees what was committed while the one above waited.
  const { rowCount: others } = await client.query(
    `select from payment_proof
     where gateway = $1 and session_id <> $2 and (kind, value) in (select * from unnest($3::text[], $4::text[]))`,
    [gateway, id, kinds, values],
  );
  if (others === 0) return 'again';
  await client.query(
    `delete from payment_proof
     where gateway = $1 and (kind, value) in (select * from unnest($2::text[], $3::text[]))`,
    [gateway, claimed.map(({ kind }) => kind), claimed.map(({ value }) => value)],
  );
  return 'used';
}
