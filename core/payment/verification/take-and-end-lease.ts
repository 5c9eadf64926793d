// The statements that take and end verification leases. Expiry follows the database's clock: those of hubs
// may differ.
import type { Pool, QueryConfig } from 'pg';
import { ASYNC_COMMIT } from '../../storage/sql/async-commit.ts';
import { columns } from '../../storage/sql/transaction.ts';
import { readSessionsBy, SESSION_COLUMNS, type StoredSession } from '../sessions/read-sessions.ts';
import { countVerification, VERIFICATION_ALLOWED } from './rate-limit.ts';

export type LeaseHolder = { readonly sessionId: string; readonly holder: string };

export type LeaseRequest = LeaseHolder & {
  /** A callback triggers the verification: count it, and take no lease beyond the rate limit. */
  readonly rateLimited: boolean;
};

const IS_FREE = '(verifying_until is null or verifying_until <= now())';

/** SQL: whether a callback may take the verification lease of `charge_session c`. */
export const VERIFICATION_LEASE_ALLOWED = `${IS_FREE} and c.status <> 'success' and ${VERIFICATION_ALLOWED}`;

/**
 * SQL assignments that give `t.holder` the verification lease of `charge_session c` for some milliseconds.
 * They must be on disk before the provider is called: a lease that is lost in a crash would let a second hub
 * call it too.
 */
export function setVerificationLease(leaseMs: `$${number}`): string {
  return `verifying_by = t.holder, verifying_until = now() + ${leaseMs} * interval '1 millisecond',
    fencing_number = c.fencing_number + 1`;
}

/**
 * Returns, for each request, the session if its lease was taken. Several requests skip the rows that are
 * locked; a single one waits for its row.
 */
export async function takeLeases(
  pool: Pool,
  requests: readonly LeaseRequest[],
  leaseMs: number,
): Promise<(StoredSession | undefined)[]> {
  const isShared = requests.length > 1;
  const sessions = await readSessionsBy(pool, {
    name: isShared ? 'take_leases' : 'take_lease',
    // charge_session_pkey; in the order of the ids, so that concurrent batches cannot deadlock
    text: `with free as materialized (
             select id from charge_session where id = any($1) and ${IS_FREE}
             order by id for no key update ${isShared ? 'skip locked' : ''}
           )
           ${TAKE_FREE}`,
    values: [...columns(requests, 'sessionId', 'holder', 'rateLimited'), leaseMs],
  });
  return requests.map(({ holder }) => sessions.get(holder));
}

const TAKE_FREE = `update charge_session c
  set ${setVerificationLease('$4')}, ${countVerification('t.rate_limited')}
  from free f, slot s, unnest($1::uuid[], $2::uuid[], $3::boolean[]) as t (session_id, holder, rate_limited)
  where c.id = f.id and t.session_id = f.id and s.id = c.slot_id
    and (not t.rate_limited or ${VERIFICATION_LEASE_ALLOWED})
  returning t.holder as key, ${SESSION_COLUMNS}`;

const END = 'update charge_session c set verifying_by = null, verifying_until = null';

/** For a transaction that settles what the lease was taken for. */
export function endLease({ sessionId, holder }: LeaseHolder): QueryConfig {
  return {
    name: 'end_lease',
    text: `${END} where id = $1 and verifying_by = $2`,
    values: [sessionId, holder],
  };
}

export function endLeases(leases: readonly LeaseHolder[]): QueryConfig {
  return {
    name: 'end_leases',
    // charge_session_pkey
    text: `${END} from unnest($1::uuid[], $2::uuid[]) as t (id, holder), ${ASYNC_COMMIT}
           where c.id = t.id and c.id = any($1) and c.verifying_by = t.holder`,
    values: columns(leases, 'sessionId', 'holder'),
  };
}
