// Inserts issued licenses. In SQL, because one request issues up to 1000 licenses.
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { License } from '../entities.ts';
import { HASH_BYTES } from '../keys/license-key.ts';

export type IssueTerms = Omit<License, 'id' | 'keyHash' | 'keyHint'>;

/**
 * Inserts licenses that differ only in id and key, by one statement, and records the change in the same
 * transaction. All hashes are one parameter, sent in binary.
 */
export async function insertLicenses(
  pool: Pool,
  licenses: readonly License[],
  terms: IssueTerms,
  record: (client: PoolClient) => Promise<void>,
): Promise<void> {
  await inTransaction(pool, async (client, send) => {
    send(insertStatement(licenses, terms));
    await record(client);
  });
}

function insertStatement(licenses: readonly License[], terms: IssueTerms): QueryConfig {
  return {
    name: 'issue_licenses',
    text: `insert into license (id, key_hash, key_hint, app_id, customer, seat_limit, limits,
           limit_profile_id,
                                lease_days, expires_at, created_at)
           select id, substring($2::bytea from (place::int - 1) * ${HASH_BYTES} + 1 for ${HASH_BYTES}),
             key_hint,
                  $4, $5, $6, $7, $8, $9, $10, $11
           from unnest($1::uuid[], $3::text[]) with ordinality as t (id, key_hint, place)`,
    values: [
      arrayLiteral(licenses.map(({ id }) => id)),
      Buffer.concat(licenses.map(({ keyHash }) => keyHash)),
      arrayLiteral(licenses.map(({ keyHint }) => keyHint)),
      terms.app.id,
      terms.customer,
      terms.seatLimit,
      terms.limits,
      terms.limitProfile?.id ?? null,
      terms.leaseDays,
      terms.expiresAt,
      terms.createdAt,
    ],
  };
}

/** An array in PostgreSQL's text format; the elements must not need quotes. */
function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.join(',')}}`;
}
