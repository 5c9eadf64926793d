// Finds payments that have paid another session, and deletes proofs of payment that a settlement does not
// use.
import type { PoolClient, QueryConfig } from 'pg';
import { columns } from '../../storage/sql/transaction.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { PaidFinding } from './finding.ts';
import { type AssignedProof, proofsOf } from './write-settlement.ts';

/** Runs after assignProofs, so it sees the commits that assignProofs waited for. */
export async function hasPaidAnother(
  client: PoolClient,
  { id, gateway }: StoredSession,
  finding: PaidFinding,
): Promise<boolean> {
  const [kinds, values] = columns(proofsOf(finding), 'kind', 'value');
  const { rowCount } = await client.query(
    `select from payment_proof
     where gateway = $1 and session_id <> $2
       and (kind, value) in (select * from unnest($3::text[], $4::text[]))`,
    [gateway, id, kinds, values],
  );
  return rowCount !== 0;
}

/** Deletes proofs that this transaction assigned but did not use. */
export function deleteUnusedProofs(assigned: readonly AssignedProof[]): QueryConfig {
  return {
    // payment_proof_pkey
    text: `delete from payment_proof
           where (gateway, kind, value) in (select * from unnest($1::text[], $2::text[], $3::text[]))`,
    values: columns(assigned, 'gateway', 'kind', 'value'),
  };
}
