// Inserts the licenses of an import, and finds those whose keys are taken or were replaced.
import type { PoolClient } from 'pg';
import { recordEvents } from '../../event/outbox.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { ImportRow, LineError } from './check-lines.ts';

export type InsertOptions = { readonly client: PoolClient; readonly appId: string; readonly now: Date };

const REVOKE_REASON = 'revoked when it was imported';

/** Inserts the rows by one statement, and returns their ids. */
export async function insertImported(
  rows: readonly ImportRow[],
  customerIds: readonly (string | null)[],
  { client, appId, now }: InsertOptions,
): Promise<readonly string[]> {
  const ids = rows.map(() => newUuid());
  await client.query({
    name: 'import_licenses',
    text: `insert into license (id, app_id, key_hash, key_hint, customer_id, seat_limit, limits,
             limit_profile_id, lease_days, grace_days, expires_at, features, metadata, created_at,
             revoked_at, revoke_reason)
           select id, $2, decode(key_hash, 'hex'), key_hint, customer_id, seat_limit, limits,
             limit_profile_id, lease_days, grace_days, expires_at,
             array(select jsonb_array_elements_text(features)), metadata, created_at,
             case when revoked then $3::timestamptz end, case when revoked then $4 end
           from jsonb_to_recordset($1) as t (id uuid, key_hash text, key_hint text, customer_id uuid,
             seat_limit int, limits jsonb, limit_profile_id uuid, lease_days int, grace_days int,
             expires_at timestamptz, features jsonb, metadata jsonb, created_at timestamptz,
             revoked boolean)`,
    values: [
      JSON.stringify(rows.map((row, place) => toRecord(row, ids[place], customerIds[place]))),
      appId,
      now,
      REVOKE_REASON,
    ],
  });
  const events = ids.map((objectId) => ({ type: 'license.imported', objectId, appId }) as const);
  await client.query(recordEvents(now, events));
  return ids;
}

/** An error for each key that a license has, or had until it was replaced. Changes nothing. */
export async function findTaken(
  client: PoolClient,
  rows: readonly ImportRow[],
  app: { readonly id: string },
): Promise<LineError[]> {
  const { rows: found } = await client.query<FoundKey>({
    // license_key_hash_key, replaced_key_pkey, license_pkey
    text: `select t.place::int, found.id, found.app_id = $2 as "isOfApp", found.replaced
           from unnest($1::bytea[]) with ordinality as t (key_hash, place)
           cross join lateral (
             (select id, app_id, false as replaced from license where key_hash = t.key_hash)
             union all
             (select l.id, l.app_id, true from replaced_key r join license l on l.id = r.license_id
              where r.key_hash = t.key_hash)
           ) found
           order by t.place`,
    values: [rows.map(({ keyHash }) => keyHash), app.id],
  });
  return found.flatMap((key) => {
    const row = rows[key.place - 1];
    return row === undefined ? [] : [keyTaken(row, key)];
  });
}

type FoundKey = {
  /** From 1. */
  readonly place: number;
  /** UUID of the license. */
  readonly id: string;
  readonly isOfApp: boolean;
  readonly replaced: boolean;
};

/** Names the license if it belongs to the app of the import. */
function keyTaken({ line }: ImportRow, { id, isOfApp, replaced }: FoundKey): LineError {
  const license = isOfApp ? `the license ${formatId('lic', id)}` : 'a license of another app';
  const message = replaced
    ? `was the key of ${license} until it was replaced: leave this line out`
    : `is the key of ${license} already`;
  return { line, field: 'licenseKey', message };
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
