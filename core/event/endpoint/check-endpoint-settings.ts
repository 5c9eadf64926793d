// Checks the settings of an endpoint: URL, types of events, apps and slots.
import type { PoolClient } from 'pg';
import { HubError } from '../../errors.ts';
import { isResourceName } from '../../resource-name.ts';
import type { AddressPolicy } from '../delivery/address-policy.ts';
import { typesOf } from '../types.ts';

export type EndpointSettings = {
  readonly url: string;
  readonly events: readonly string[];
  /** Slugs. */
  readonly apps: readonly string[];
  /** Names. */
  readonly slots: readonly string[];
  readonly includeKeys: boolean;
  readonly description: string;
};

export type CheckedSettings = EndpointSettings & {
  /** UUIDs. */
  readonly appIds: readonly string[];
  readonly slotIds: readonly string[];
};

/** @throws HubError `endpoint_url_invalid`, `event_type_unknown`, `app_unknown`, `slot_unknown` */
export async function checkSettings(
  client: PoolClient,
  settings: EndpointSettings,
  policy: AddressPolicy,
): Promise<CheckedSettings> {
  const fault = policy.checkUrl(settings.url);
  if (fault !== undefined) {
    throw new HubError('endpoint_url_invalid', `the URL ${fault}`, { field: 'settings.url' });
  }
  typesOf(settings.events, 'settings.events');
  const appIds = await idsOf(client, 'app', settings.apps);
  return { ...settings, appIds, slotIds: await idsOf(client, 'slot', settings.slots) };
}

/** The UUIDs of apps by slug, or of slots by name. @throws HubError `app_unknown`, `slot_unknown` */
async function idsOf(
  client: PoolClient,
  table: 'app' | 'slot',
  names: readonly string[],
): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const column = table === 'app' ? 'slug' : 'name';
  const { rows } = await client.query<{ id: string; name: string }>(
    // app_slug_key, slot_name_key
    `select id, ${column} as name from ${table} where ${column} = any($1)`,
    [names.filter(isResourceName)],
  );
  const known = new Set(rows.map(({ name }) => name));
  const missing = names.find((name) => !known.has(name));
  if (missing === undefined) return rows.map(({ id }) => id);
  throw new HubError(`${table}_unknown`, `there is no ${table} "${missing}"`, {
    field: `settings.${table}s`,
  });
}
