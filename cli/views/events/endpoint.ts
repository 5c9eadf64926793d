// JSON schemas and columns of endpoints.
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { shortTime } from '../cells.ts';
import { scopeText } from '../operations/token.ts';
import * as json from '../schema.ts';
import { DELIVERY } from './delivery.ts';

export const ENDPOINT = json.view('Endpoint', 'hub.event.v1.Endpoint', {
  endpointId: json.id('whe'),
  url: json.text(),
  events: json.list(json.text()),
  apps: json.list(json.text()),
  slots: json.list(json.text()),
  includeKeys: json.boolean(),
  description: json.optional(json.text()),
  createdAt: json.time(),
  disabledAt: json.optional(json.time('when the endpoint was disabled; missing if it is enabled')),
  disabledReason: json.optional(json.text('why it is disabled')),
  failingSince: json.optional(
    json.time('time of the first attempt that the endpoint failed since its last success'),
  ),
  previousSecretUntil: json.optional(
    json.time('time until which deliveries are also signed with the previous secret'),
  ),
});
export type EndpointView = json.ValueOf<typeof ENDPOINT>;

export const ENDPOINTS = json.object('Endpoints', {
  endpoints: json.list(ENDPOINT),
  count: json.integer('number of listed endpoints'),
});

export const ENDPOINT_WITH_SECRET = json.object('EndpointWithSecret', {
  ...ENDPOINT.properties,
  secret: json.text('the secret that signs deliveries, shown only once: `whsec_` and Base64'),
});
export type EndpointWithSecretView = json.ValueOf<typeof ENDPOINT_WITH_SECRET>;

export const ENDPOINT_WITH_DELIVERIES = json.object('EndpointWithDeliveries', {
  ...ENDPOINT.properties,
  deliveries: json.list(DELIVERY, 'the deliveries of the newest events, at most 20'),
});

export const REMOVED_ENDPOINT = json.object('RemovedEndpoint', {
  endpointId: json.id('whe', 'the removed endpoint'),
});

export const endpointView = json.viewer(ENDPOINT);

export function endpointWithSecretView(
  endpoint: Endpoint | undefined,
  secret: string,
): EndpointWithSecretView {
  const { endpointId, url, events, ...rest } = endpointView(endpoint);
  return { endpointId, url, events, secret, ...rest };
}

export const ENDPOINT_FIELDS: readonly Column<EndpointView>[] = [
  ...columnsOf(ENDPOINT, 'endpointId', { url: 'URL' }),
  { title: 'Events', cell: (item) => item.events.join(' ') },
  { title: 'Scope', cell: scopeText },
  { title: 'License keys', cell: (item) => (item.includeKeys ? 'in license.issued' : 'never') },
  { title: 'Description', cell: (item) => item.description },
  { title: 'State', cell: stateText },
  ...columnsOf(ENDPOINT, 'createdAt', { previousSecretUntil: 'Old secret until' }),
];

export const ENDPOINT_COLUMNS = pick(ENDPOINT_FIELDS, 'Endpoint', 'URL', 'Events', 'State');

export const ENDPOINT_WITH_SECRET_FIELDS: readonly Column<EndpointWithSecretView>[] = [
  { title: 'Secret', cell: (item) => item.secret },
  ...ENDPOINT_FIELDS,
];

/** `enabled`, `failing since …`, or `disabled since …: the endpoint answered with status 410 (gone)`. */
function stateText({ disabledAt, disabledReason, failingSince }: EndpointView): string {
  if (disabledAt !== undefined) {
    const why = disabledReason === undefined ? '' : `: ${disabledReason}`;
    return `disabled since ${shortTime(disabledAt)}${why}`;
  }
  return failingSince === undefined ? 'enabled' : `failing since ${shortTime(failingSince)}`;
}
