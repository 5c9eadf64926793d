// Inserts issued licenses. In SQL, because one request issues up to 1000 licenses.
import type { Pool, PoolClient, QueryConfig } from 'pg';
import {
  findOrCreateCustomer,
  type InlineCustomer,
  type InlineCustomerOptions,
} from '../../customer/inline-customer.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { License } from '../entities.ts';
import { HASH_BYTES } from '../keys/license-key.ts';

export type IssueTerms = Pick<
  License,
  'app' | 'seatLimit' | 'limits' | 'limitProfile' | 'leaseDays' | 'expiresAt' | 'createdAt'
>;

/** What differs between licenses of a request. */
export type LicenseKeyRow = Pick<License, 'id' | 'keyHash' | 'keyHint'>;

/**
 * Inserts licenses that differ only in id and key, by one statement, and records the change in the same
 * transaction. All hashes are one parameter, sent in binary.
 */
export async function insertLicenses(
  pool: Pool,
  licenses: readonly LicenseKeyRow[],
  terms: IssueTerms,
  customer: (InlineCustomer & InlineCustomerOptions) | undefined,
  record: (client: PoolClient) => Promise<void>,
): Promise<void> {
  await inTransaction(pool, async (client, send) => {
    const customerId = customer && (await findOrCreateCustomer(client, customer, customer));
    send(insertStatement(licenses, terms, customerId ?? null));
    await record(client);
  });
}

function insertStatement(
  licenses: readonly LicenseKeyRow[],
  terms: IssueTerms,
  customerId: string | null,
): QueryConfig {
  return {
    name: 'issue_licenses',
    text: `insert into license (id, key_hash, key_hint, app_id, customer_id, seat_limit, limits,
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
      customerId,
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
