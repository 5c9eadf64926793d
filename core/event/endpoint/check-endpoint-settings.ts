// Checks the settings of an endpoint: URL, types of events, apps and slots.
import type { PoolClient } from 'pg';
import type { EndpointSettings as SettingsMessage } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { HubError } from '../../errors.ts';
import type { AddressPolicy } from '../delivery/address-policy.ts';
import { typesOf } from '../types.ts';
import { findScopeIds } from './scope-names.ts';

export type EndpointSettings = Pick<
  SettingsMessage,
  'url' | 'events' | 'apps' | 'slots' | 'includeKeys' | 'description'
>;

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
  const appIds = await findScopeIds(client, 'app', settings.apps, 'settings.apps');
  const slotIds = await findScopeIds(client, 'slot', settings.slots, 'settings.slots');
  return { ...settings, appIds, slotIds };
}
