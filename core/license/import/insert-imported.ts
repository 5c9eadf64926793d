// Inserts the licenses of an import, and finds those whose keys are taken.
import type { PoolClient } from 'pg';
import { newUuid } from '../../ids.ts';
import type { ImportRow, LineError } from './check-lines.ts';

export type InsertOptions = { readonly client: PoolClient; readonly appId: string; readonly now: Date };

const REVOKE_REASON = 'revoked when it was imported';

/** Inserts the rows by one statement. Returns the ids, and an error for each key that a license has already. */
export async function insertImported(
  rows: readonly ImportRow[],
  customerIds: readonly (string | null)[],
  { client, appId, now }: InsertOptions,
): Promise<{ readonly ids: readonly string[]; readonly errors: readonly LineError[] }> {
  const ids = rows.map(() => newUuid());
  const { rows: inserted } = await client.query<{ id: string }>({
    name: 'import_licenses',
    // license_key_hash_key
    text: `insert into license (id, app_id, key_hash, key_hint, customer_id, seat_limit, limits,
             limit_profile_id, lease_days, grace_days, expires_at, features, metadata, created_at,
             revoked_at, revoke_reason)
           select id, $2, decode(key_hash, 'hex'), key_hint, customer_id, seat_limit, limits,
             limit_profile_id, lease_days, grace_days, expires_at,
             array(select jsonb_array_elements_text(features)), metadata, created_at,
             case when revoked then $3::timestamptz end, case when revoked then $4 end
           from jsonb_to_recordset($1) as t (id uuid, key_hash text, key_hint text, customer_id uuid,
             seat_limit int, limits jsonb, limit_profile_id uuid, lease_days int, grace_days int,
             expires_at timestamptz, features jsonb, metadata jsonb, created_at timestamptz, revoked boolean)
           on conflict (key_hash) do nothing
           returning id`,
    values: [
      JSON.stringify(rows.map((row, place) => toRecord(row, ids[place], customerIds[place]))),
      appId,
      now,
      REVOKE_REASON,
    ],
  });
  const done = new Set(inserted.map(({ id }) => id));
  const isDone = (_: unknown, place: number): boolean => done.has(ids[place] ?? '');
  return {
    ids: ids.filter(isDone),
    errors: rows.filter((row, place) => !isDone(row, place)).map(keyTaken),
  };
}

/** An error for each key that a license has already. Changes nothing. */
export async function findTaken(client: PoolClient, rows: readonly ImportRow[]): Promise<LineError[]> {
  const { rows: found } = await client.query<{ place: string }>({
    // license_key_hash_key
    text: `select t.place from unnest($1::bytea[]) with ordinality as t (key_hash, place)
           where exists (select from license l where l.key_hash = t.key_hash)`,
    values: [rows.map(({ keyHash }) => keyHash)],
  });
  const places = new Set(found.map(({ place }) => Number(place) - 1));
  return rows.filter((_, place) => places.has(place)).map(keyTaken);
}

function keyTaken({ line }: ImportRow): LineError {
  return { line, field: 'licenseKey', message: 'is the key of a license that the hub has already' };
}

function toRecord(row: ImportRow, id: string | undefined, customerId: string | null | undefined): object {
  return {
    id,
    key_hash: row.keyHash.toString('hex'),
    key_hint: row.keyHint,
    customer_id: customerId ?? null,
    seat_limit: row.seatLimit,
    limits: row.limits,
    limit_profile_id: row.limitProfileId,
    lease_days: row.leaseDays,
    grace_days: row.graceDays,
    expires_at: row.expiresAt,
    features: row.features,
    metadata: row.metadata,
    created_at: row.createdAt,
    revoked: row.revoked,
  };
}
