// Inserts issued licenses. In SQL, because one request issues up to 1000 licenses, and one settlement those
// of many sessions.
import type { KeyObject } from 'node:crypto';
import type { QueryConfig } from 'pg';
import { newUuid } from '../../ids.ts';
import type { License } from '../entities.ts';
import { deriveLicenseKey, HASH_BYTES, keyColumns } from '../keys/license-key.ts';
import type { NewTerms } from './issue-terms.ts';

/** What the licenses of a statement have in common. Ids are UUIDs. */
export type CommonColumns = {
  readonly appId: string;
  readonly keySecretId: string;
  readonly createdAt: Date;
  readonly terms: NewTerms;
};

/** The id and the key of a license. */
export type LicenseKeyRow = Pick<License, 'id' | 'keyHash' | 'keyHint'>;

/** What differs between licenses of a statement. */
export type LicenseRow = LicenseKeyRow & {
  /** UUID. */
  readonly customerId: string | null;
};

/** The generation of the key of a new license. */
export const FIRST_GENERATION = 1;

/** Returns the id and the key of a new license. */
export function newLicense(secret: KeyObject): LicenseKeyRow & { readonly licenseKey: string } {
  const id = newUuid();
  const licenseKey = deriveLicenseKey(secret, id, FIRST_GENERATION);
  return { id, licenseKey, ...keyColumns(licenseKey) };
}

/** The statement that inserts licenses. All hashes are one parameter, sent in binary. */
export function insertLicenses(licenses: readonly LicenseRow[], common: CommonColumns): QueryConfig {
  const { appId, keySecretId, createdAt, terms } = common;
  return {
    name: 'issue_licenses',
    text: `insert into license (id, key_hash, key_hint, app_id, customer_id, key_secret_id, seat_limit,
           limits,
             limit_profile_id, lease_days, grace_days, expires_at, valid_for, features, metadata,
             signed_metadata, created_at)
           select id, substring($2::bytea from (place::int - 1) * ${HASH_BYTES} + 1 for ${HASH_BYTES}),
             key_hint, $4, customer_id, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
           from unnest($1::uuid[], $3::text[], $5::uuid[]) with ordinality
             as t (id, key_hint, customer_id, place)`,
    values: [
      arrayLiteral(licenses.map(({ id }) => id)),
      Buffer.concat(licenses.map(({ keyHash }) => keyHash)),
      arrayLiteral(licenses.map(({ keyHint }) => keyHint)),
      appId,
      arrayLiteral(licenses.map(({ customerId }) => customerId ?? 'NULL')),
      keySecretId,
      terms.seatLimit,
      terms.limits,
      terms.limitProfile?.id ?? null,
      terms.leaseDays,
      terms.graceDays,
      terms.expiresAt,
      terms.validFor,
      terms.features,
      terms.metadata,
      terms.signedMetadata,
      createdAt,
    ],
  };
}

/** An array in PostgreSQL's text format; the elements must not need quotes. */
function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.join(',')}}`;
}
