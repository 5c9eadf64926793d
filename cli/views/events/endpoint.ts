// JSON schemas and columns of endpoints.
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  id,
  integer,
  list,
  object,
  optional,
  text,
  time,
  type ValueOf,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { scopeText } from '../operations/token.ts';
import { DELIVERY } from './delivery.ts';

export const ENDPOINT = object(
  'Endpoint',
  {
    endpointId: id('whe'),
    url: text(),
    events: list(text()),
    apps: list(text()),
    slots: list(text()),
    includeKeys: boolean(),
    description: optional(text()),
    createdAt: time(),
    disabledAt: optional(time('when the endpoint was disabled; missing if it is enabled')),
    disabledReason: optional(text('why it is disabled')),
    failingSince: optional(time('time of the first failed attempt since the last success')),
    previousSecretUntil: optional(
      time('time until which deliveries are also signed with the previous secret'),
    ),
  },
  { message: 'hub.event.v1.Endpoint' },
);
export type EndpointView = ValueOf<typeof ENDPOINT>;

export const ENDPOINTS = object('Endpoints', {
  endpoints: list(ENDPOINT),
  count: integer('number of listed endpoints'),
});

export const ENDPOINT_WITH_SECRET = object('EndpointWithSecret', {
  ...ENDPOINT.properties,
  secret: text('the secret that signs deliveries, shown only once: `whsec_` and Base64'),
});
export type EndpointWithSecretView = ValueOf<typeof ENDPOINT_WITH_SECRET>;

export const ENDPOINT_WITH_DELIVERIES = object('EndpointWithDeliveries', {
  ...ENDPOINT.properties,
  deliveries: list(DELIVERY, 'the deliveries of the newest events, at most 20'),
});

export const REMOVED_ENDPOINT = object('RemovedEndpoint', { endpointId: id('whe', 'the removed endpoint') });

export function endpointView(endpoint: Endpoint): EndpointView {
  const { description, disabledAt, disabledReason, failingSince, previousSecretUntil } = endpoint;
  return {
    endpointId: endpoint.endpointId,
    url: endpoint.url,
    events: endpoint.events,
    apps: endpoint.apps,
    slots: endpoint.slots,
    includeKeys: endpoint.includeKeys,
    ...(description !== '' && { description }),
    createdAt: rfc3339(requireField(endpoint.createdAt, 'creation time')),
    ...(disabledAt && { disabledAt: rfc3339(disabledAt) }),
    ...(disabledReason !== '' && { disabledReason }),
    ...(failingSince && { failingSince: rfc3339(failingSince) }),
    ...(previousSecretUntil && { previousSecretUntil: rfc3339(previousSecretUntil) }),
  };
}

export function endpointWithSecretView(endpoint: Endpoint, secret: string): EndpointWithSecretView {
  const { endpointId, url, events, ...rest } = endpointView(endpoint);
  return { endpointId, url, events, secret, ...rest };
}

export const ENDPOINT_COLUMNS: readonly Column<EndpointView>[] = [
  { title: 'ENDPOINT', cell: (item) => item.endpointId },
  { title: 'URL', cell: (item) => item.url },
  { title: 'EVENTS', cell: (item) => item.events.join(' ') },
  { title: 'STATE', cell: stateText },
];

export const ENDPOINT_FIELDS: readonly Column<EndpointView>[] = [
  { title: 'Endpoint', cell: (item) => item.endpointId },
  { title: 'URL', cell: (item) => item.url },
  { title: 'Events', cell: (item) => item.events.join(' ') },
  { title: 'Scope', cell: scopeText },
  { title: 'License keys', cell: (item) => (item.includeKeys ? 'in license.issued' : 'never') },
  { title: 'Description', cell: (item) => item.description },
  { title: 'State', cell: stateText },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Old secret until', cell: (item) => shortTime(item.previousSecretUntil) },
];

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
