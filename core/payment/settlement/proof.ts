// Proofs of payment: a proof that has paid one session never pays another, not even after a reversal.
import type { PoolClient, QueryConfig } from 'pg';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { PaidFinding } from './finding.ts';

/** `again`: a part of the proof paid this session before. `used`: a part of it paid another session. */
export type ProofState = 'new' | 'again' | 'used';

type Proof = { readonly sessionId: string; readonly kind: string; readonly value: string };
export type ClaimedProof = Proof & { readonly gateway: string };

/** Assigns proofs to the sessions; returns those that no session had. */
export async function claimProofs(
  client: PoolClient,
  findings: readonly PaidFinding[],
): Promise<readonly ClaimedProof[]> {
  if (findings.length === 0) return [];
  const { rows } = await client.query<ClaimedProof>({
    name: 'claim_proofs',
    // payment_proof_pkey. Concurrent settlements by the same proof wait here, all in the same order.
    text: `insert into payment_proof (gateway, kind, value, session_id)
           select s.gateway, t.kind, t.value, c.id
           from unnest($1::uuid[], $2::text[], $3::text[]) as t (session_id, kind, value)
           join charge_session c on c.id = t.session_id join slot s on s.id = c.slot_id
           order by s.gateway, t.kind, t.value
           on conflict do nothing returning session_id as "sessionId", gateway, kind, value`,
    values: columnsOf(findings.flatMap(proofsOf)),
  });
  return rows;
}

export function isFullyClaimed(finding: PaidFinding, claimed: readonly ClaimedProof[]): boolean {
  const own = claimed.filter(({ sessionId }) => sessionId === finding.sessionId);
  return own.length === proofsOf(finding).length;
}

/** A statement after claimProofs also sees what was committed while that one waited. */
export async function hasPaidAnother(
  client: PoolClient,
  { id, gateway }: StoredSession,
  finding: PaidFinding,
): Promise<boolean> {
  const [, kinds, values] = columnsOf(proofsOf(finding));
  const { rowCount } = await client.query(
    `select from payment_proof
     where gateway = $1 and session_id <> $2
       and (kind, value) in (select * from unnest($3::text[], $4::text[]))`,
    [gateway, id, kinds, values],
  );
  return rowCount !== 0;
}

/** Gives up proofs that this transaction claimed and does not settle by. */
export function releaseProofs(claimed: readonly ClaimedProof[]): QueryConfig {
  return {
    // payment_proof_pkey
    text: `delete from payment_proof
           where (gateway, kind, value) in (select * from unnest($1::text[], $2::text[], $3::text[]))`,
    values: [
      claimed.map(({ gateway }) => gateway),
      claimed.map(({ kind }) => kind),
      claimed.map(({ value }) => value),
    ],
  };
}

function proofsOf({ sessionId, verdict }: PaidFinding): Proof[] {
  const { gatewayTransactionId, bankTransactionId } = verdict;
  const payment = { sessionId, kind: 'payment', value: gatewayTransactionId };
  return bankTransactionId ? [{ sessionId, kind: 'bank', value: bankTransactionId }, payment] : [payment];
}

function columnsOf(proofs: readonly Proof[]) {
  return [
    proofs.map(({ sessionId }) => sessionId),
    proofs.map(({ kind }) => kind),
    proofs.map(({ value }) => value),
  ];
}
