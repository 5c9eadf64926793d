// Judges events and webhooks after random steps: by the tables, the audit log, and the objects as operators see them.
import { showObject } from '../../../core/event/read-objects.ts';
import { CustomerSchema } from '../../../gen/hub/customer/v1/customer_pb.ts';
import type { Event } from '../../../gen/hub/event/v1/event_pb.ts';
import { LicenseSchema, SeatSchema } from '../../../gen/hub/license/v1/license_pb.ts';
import { ChargeSessionSchema } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { ReceivedWebhook } from '../../support/network/webhook-receiver.ts';
import { signersOf } from '../../support/network/webhook-signature.ts';
import { query } from '../../support/postgres/databases.ts';
import type { HubClients } from '../scenes/cluster.ts';
import { type EventFixture, receivedBy, type Subscriber, uuidOf } from './event-fixture.ts';

/** Everything that is wrong, in a sentence each. */
export async function judgeEvents(fixture: EventFixture, hub: HubClients): Promise<string[]> {
  const events = await readEvents(hub);
  const { databaseUrl } = fixture.cluster;
  return [
    ...(await wrongNumbers(databaseUrl)),
    ...(await withoutChange(databaseUrl)),
    ...(await undelivered(fixture)),
    ...missing(fixture.subscribers[0], events),
    ...fixture.subscribers.flatMap((subscriber) => wrongWebhooks(subscriber, events)),
    ...(await staleObjects(fixture, hub)),
  ];
}

async function readEvents({ events }: HubClients): Promise<ReadonlyMap<string, Event>> {
  const found = new Map<string, Event>();
  for (let pageToken = ''; ; ) {
    const page = await events.listEvents({ pageSize: 1_000, pageToken });
    for (const event of page.events) found.set(event.eventId, event);
    pageToken = page.nextPageToken;
    if (pageToken === '') return found;
  }
}

async function wrongNumbers(databaseUrl: string): Promise<string[]> {
  const [row] = await query<{ count: number; first: number; last: number; counter: number; waiting: number }>(
    databaseUrl,
    `select count(*)::int, count(distinct number)::int as different, min(number)::int as first, max(number)::int as last,
            (select last_number::int from event_counter) as counter, (select count(*)::int from event_outbox) as waiting
     from event`,
  );
  const { count = 0, first, last, counter, waiting } = row ?? {};
  const isRight = first === 1 && last === count && counter === count && waiting === 0;
  return isRight ? [] : [`numbers have gaps: ${JSON.stringify(row)}`];
}

/** Events and audit entries are written by the same transactions. */
const RECORDED: Readonly<Record<string, string>> = {
  'license.suspend': 'license.suspended',
  'license.resume': 'license.resumed',
  'license.revoke': 'license.revoked',
  'license.reinstate': 'license.reinstated',
  'license.update': 'license.updated',
  'license.renew': 'license.renewed',
  'license.rekey': 'license.rekeyed',
  'license.transfer': 'license.transferred',
  'customer.create': 'customer.created',
  'customer.update': 'customer.updated',
  'customer.erase': 'customer.erased',
  'endpoint.disable': 'endpoint.disabled',
};

async function withoutChange(databaseUrl: string): Promise<string[]> {
  const entries = await query<{ action: string; subject: string }>(
    databaseUrl,
    'select action, subject from audit_entry',
  );
  const changes = entries.flatMap(({ action, subject }) =>
    RECORDED[action] === undefined ? [] : [`${RECORDED[action]} ${uuidOf(subject)}`],
  );
  const others = await query<{ change: string }>(
    databaseUrl,
    `select 'license.issued ' || id as change from license
     union all select 'seat.activated ' || id from seat
     union all select 'seat.released ' || id from seat where released_at is not null`,
  );
  const events = await query<{ change: string }>(
    databaseUrl,
    `select type || ' ' || object_id as change from event where type not like 'session.%'`,
  );
  const [expected, found] = [
    [...changes, ...others.map(({ change }) => change)].sort(),
    events.map(({ change }) => change).sort(),
  ];
  const counted = (list: readonly string[]) => Map.groupBy(list, (each) => each);
  const [one, two] = [counted(expected), counted(found)];
  return [...new Set([...expected, ...found])].flatMap((change) => {
    const [made, told] = [one.get(change)?.length ?? 0, two.get(change)?.length ?? 0];
    return made === told ? [] : [`${change} was made ${made} times, and has ${told} events`];
  });
}

async function undelivered({ cluster, subscribers }: EventFixture): Promise<string[]> {
  const rows = await query<DeliveryRow>(
    cluster.databaseUrl,
    `select d.event_id as "eventId", d.endpoint_id as "endpointId", d.state, e.number::int,
            concat_ws(', ', attempts, next_attempt_at, last_attempt_at, problem) as detail
     from event_delivery d join event_endpoint p on p.id = d.endpoint_id and p.removed_at is null
     join event e on e.id = d.event_id`,
  );
  return rows.flatMap(({ eventId, endpointId, state, number, detail }) => {
    const subscriber = subscribers.find((each) => uuidOf(each.endpointId ?? '') === endpointId);
    if (subscriber === undefined) return [`a delivery to the unknown endpoint ${endpointId}`];
    if (state !== 'delivered') return [`event ${number} is ${state} for ${subscriber.path}: ${detail}`];
    const isReceived = subscriber.receiver.received.some(
      ({ path, headers }) => path === subscriber.path && uuidOf(headers['webhook-id'] ?? '') === eventId,
    );
    return isReceived ? [] : [`event ${number} was not received at ${subscriber.path}`];
  });
}

type DeliveryRow = {
  readonly eventId: string;
  readonly endpointId: string;
  readonly state: string;
  readonly number: number;
  readonly detail: string;
};

/** The first subscriber receives everything. */
function missing(first: Subscriber, events: ReadonlyMap<string, Event>): string[] {
  const received = new Set(receivedBy(first).map(({ headers }) => headers['webhook-id']));
  return [...events.values()].flatMap(({ eventId, type, sequence }) =>
    received.has(eventId) ? [] : [`event ${sequence}, ${type}, was not received`],
  );
}

function wrongWebhooks(subscriber: Subscriber, events: ReadonlyMap<string, Event>): string[] {
  return receivedBy(subscriber).flatMap((webhook) => {
    const { headers, event, path } = webhook;
    const id = headers['webhook-id'] ?? '';
    const stored = events.get(id);
    if (stored === undefined) return [`the webhook ${id} has no event`];
    const isRight =
      stored.type === event.type &&
      Number(stored.sequence) === event.sequence &&
      (event.data === null || Object.values(event.data).includes(stored.object));
    return [
      ...(isRight ? [] : [`the webhook ${id} differs from its event`]),
      ...(signersOf(webhook, subscriber.secrets.get(path) ?? []).length > 0 ? [] : [`${id} is not signed`]),
    ];
  });
}

/** The members of an object that only change with an event, by the kind of the object, and the member with its id. */
const SHOWN: Readonly<Record<string, { readonly id: string; readonly members: readonly string[] }>> = {
  license: {
    id: 'licenseId',
    members: [
      'state',
      'suspendReason',
      'revokeReason',
      'termsVersion',
      'keyGeneration',
      'customerId',
      'expiresAt',
    ],
  },
  customer: { id: 'customerId', members: ['name', 'erasedAt'] },
  session: { id: 'sessionId', members: ['status', 'statusVerified'] },
  seat: { id: 'seatId', members: ['releasedAt'] },
};

/** The last event of each object shows it as it is. */
async function staleObjects({ subscribers: [first] }: EventFixture, hub: HubClients): Promise<string[]> {
  const last = new Map<string, ReceivedWebhook['event']>();
  for (const { event } of receivedBy(first)) {
    const { id = '' } = SHOWN[event.type.split('.')[0] ?? ''] ?? {};
    const object = String(event.data?.[id]);
    if ((last.get(object)?.sequence ?? 0) < event.sequence) last.set(object, event);
  }
  const wrong: string[] = [];
  for (const [object, { type, data }] of last) {
    const now = await readObject(hub, object, data);
    for (const member of SHOWN[type.split('.')[0] ?? '']?.members ?? []) {
      const [told, is] = [JSON.stringify(data[member] ?? null), JSON.stringify(now[member] ?? null)];
      if (told !== is) wrong.push(`${object} has ${member} ${is}, and its last event ${type} says ${told}`);
    }
  }
  return wrong;
}

type Shown = Readonly<Record<string, unknown>>;

async function readObject(
  { licenses, customers, sessions }: HubClients,
  object: string,
  data: Shown,
): Promise<Shown> {
  switch (object.split('_')[0]) {
    case 'lic': {
      const { license } = await licenses.getLicense({ licenseId: object });
      return license ? showObject(LicenseSchema, license) : {};
    }
    case 'cus': {
      const { customer } = await customers.getCustomer({ customerId: object });
      return customer ? showObject(CustomerSchema, customer) : {};
    }
    case 'chs': {
      const { session } = await sessions.getChargeSession({ sessionId: object });
      return session ? showObject(ChargeSessionSchema, session) : {};
    }
    case 'seat': {
      const request = { licenseId: String(data['licenseId']), includeReleased: true, pageSize: 1_000 };
      const { seats } = await licenses.listSeats(request);
      const seat = seats.find(({ seatId }) => seatId === object);
      return seat ? showObject(SeatSchema, seat) : {};
    }
    default:
      return {}; // an endpoint, which changes without events
  }
}
