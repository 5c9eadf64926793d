// The statements that change endpoints.
import type { Pool, PoolClient } from 'pg';
import { HubError, unknownId } from '../../errors.ts';
import { parseId, type Uuid } from '../../ids.ts';
import type { CheckedSettings } from './check-endpoint-settings.ts';

/** A limit, because the sequencer matches each event against all endpoints. */
export const MAX_ENDPOINTS = 100;
/** Deliveries that one statement deletes. */
const DELETE_BATCH = 10_000;

/** @throws HubError `endpoint_unknown` */
export async function lockEndpoint(client: PoolClient, endpointId: string): Promise<Uuid> {
  const id = parseId('whe', endpointId);
  const { rowCount } = await client.query({
    name: 'lock_endpoint',
    // event_endpoint_pkey
    text: 'select from event_endpoint where id = $1 and removed_at is null for no key update',
    values: [id ?? null],
  });
  if (id === undefined || rowCount === 0) throw unknownId('whe');
  return id;
}

/** @throws HubError `too_many` if the hub has the maximum number of endpoints */
export async function checkEndpointCount(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::int as count from event_endpoint where removed_at is null',
  );
  if ((rows[0]?.count ?? 0) < MAX_ENDPOINTS) return;
  throw new HubError('too_many', `a hub has at most ${MAX_ENDPOINTS} endpoints: remove one first`);
}

type NewEndpoint = {
  readonly id: string;
  readonly settings: CheckedSettings;
  /** The sealed secret. */
  readonly sealed: Buffer;
  readonly now: Date;
};

export async function insertEndpoint(
  client: PoolClient,
  { id, settings, sealed, now }: NewEndpoint,
): Promise<void> {
  await client.query({
    name: 'insert_endpoint',
    text: `insert into event_endpoint (id, url, event_types, app_ids, slot_ids, include_keys, description,
                                       sealed_secret, created_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [id, ...columnsOf(settings), sealed, now],
  });
}

/** Replaces the settings. Returns the former URL and types of events. */
export async function updateEndpoint(
  client: PoolClient,
  id: string,
  settings: CheckedSettings,
): Promise<FormerSettings> {
  const { rows } = await client.query<FormerSettings>({
    name: 'update_endpoint',
    // event_endpoint_pkey
    text: `update event_endpoint e
           set url = $2, event_types = $3, app_ids = $4, slot_ids = $5, include_keys = $6, description = $7
           from (select * from event_endpoint where id = $1) was where e.id = $1
           returning was.url, was.event_types as events`,
    values: [id, ...columnsOf(settings)],
  });
  return onlyRow(rows, id);
}

type FormerSettings = { readonly url: string; readonly events: readonly string[] };

/** The caller has locked the endpoint, so it exists. */
function onlyRow([row]: readonly FormerSettings[], id: string): FormerSettings {
  if (row === undefined) throw new Error(`endpoint ${id} does not exist`);
  return row;
}

export type NewState = {
  /** The reason to disable the endpoint; null to enable it. */
  readonly reason: string | null;
  readonly now: Date;
  /** Changes the endpoint only if it has this URL, and its deliveries have failed since this time. */
  readonly only?: { readonly url: string; readonly failingSince: Date | undefined } | undefined;
};

/** Disables or enables an endpoint. Returns whether its state changed. */
export async function writeDisabled(
  client: PoolClient,
  id: string,
  { reason, now, only }: NewState,
): Promise<boolean> {
  const { rowCount } = await client.query({
    name: 'write_endpoint_disabled',
    // event_endpoint_pkey
    text: `update event_endpoint
           set disabled_at = case when $2::text is not null then $3::timestamptz end,
             disabled_reason = $2::text,
               failing_since = null
           where id = $1 and (disabled_at is null) = ($2::text is not null) and url = coalesce($4, url)
             and ($5::timestamptz is null or failing_since = $5)`,
    values: [id, reason, now, only?.url ?? null, only?.failingSince ?? null],
  });
  return rowCount === 1;
}

/** Removes an endpoint. Returns its former URL and types of events. */
export async function removeEndpoint(client: PoolClient, id: string, now: Date): Promise<FormerSettings> {
  const { rows } = await client.query<FormerSettings>({
    name: 'remove_endpoint',
    // event_endpoint_pkey. The row stays, because deliveries refer to it.
    text: `update event_endpoint
           set removed_at = $2, sealed_secret = null, sealed_previous_secret = null, failing_since = null
           where id = $1 returning url, event_types as events`,
    values: [id, now],
  });
  return onlyRow(rows, id);
}

type NewSecret = {
  readonly sealed: Buffer;
  /** The time until which the hub signs with the previous secret too; null to stop at once. */
  readonly keepPreviousUntil: Date | null;
};

export async function writeSecret(
  client: PoolClient,
  id: string,
  { sealed, keepPreviousUntil }: NewSecret,
): Promise<void> {
  await client.query({
    name: 'write_endpoint_secret',
    // event_endpoint_pkey
    text: `update event_endpoint
           set sealed_secret = $2, previous_secret_until = $3,
               sealed_previous_secret = case when $3::timestamptz is not null then sealed_secret end
           where id = $1`,
    values: [id, sealed, keepPreviousUntil],
  });
}

/** Deletes the pending deliveries of a removed endpoint. */
export async function deletePending(pool: Pool, endpointId: string): Promise<void> {
  for (let deleted: number | null = DELETE_BATCH; deleted === DELETE_BATCH; ) {
    ({ rowCount: deleted } = await pool.query({
      name: 'delete_pending_deliveries',
      // event_delivery_due_idx, event_delivery_pkey
      text: `delete from event_delivery where endpoint_id = $1 and event_id = any(array(
               select event_id from event_delivery
               where endpoint_id = $1 and state = 'pending' order by next_attempt_at limit ${DELETE_BATCH}))`,
      values: [endpointId],
    }));
  }
}

function columnsOf({ url, events, appIds, slotIds, includeKeys, description }: CheckedSettings): unknown[] {
  return [url, events, appIds, slotIds, includeKeys, description];
}
