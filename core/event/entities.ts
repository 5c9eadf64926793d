// The tables of the event module.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

/**
 * Events without a number. The sequencer moves them to `event`. One row has the events of one type that a transaction
 * records together: a row for each event would cost activations 8 µs more.
 */
export const EventOutboxSchema = defineEntity({
  name: 'EventOutbox',
  tableName: 'event_outbox',
  properties: {
    position: p.bigint().primary().autoincrement(),
    type: p.text(),
    /** UUIDs; the arrays have the same length. */
    objectIds: p.array<string>().columnType('uuid[]'),
    appIds: p.array<string | null>().columnType('uuid[]'),
    slotIds: p.array<string | null>().columnType('uuid[]'),
    at: p.datetime(3),
  },
});

/** One row, `events`, once there are events. */
const EventCounterSchema = defineEntity({
  name: 'EventCounter',
  tableName: 'event_counter',
  properties: { name: p.text().primary(), lastNumber: p.bigint() },
});

/** Until when the expiries of licenses are recorded as events, by the type of event. */
const LicenseExpiryMarkSchema = defineEntity({
  name: 'LicenseExpiryMark',
  tableName: 'license_expiry_mark',
  properties: { type: p.text().primary(), announcedUntil: p.datetime(3) },
});

export const EventSchema = defineEntity({
  name: 'Event',
  tableName: 'event',
  properties: {
    id: p.uuid().primary(),
    /** From 1, without gaps. Unique, because sequencers take turns. */
    number: p.bigint(),
    type: p.text(),
    objectId: p.uuid(),
    appId: p.uuid().nullable(),
    slotId: p.uuid().nullable(),
    at: p.datetime(3),
  },
  indexes: [
    { name: 'event_number_idx', properties: ['number'] },
    { name: 'event_object_idx', properties: ['objectId', 'id'] },
  ],
});

/** The object of a delivered event, as it was when the event was numbered. Other events show the object as it is. */
const EventDataSchema = defineEntity({
  name: 'EventData',
  tableName: 'event_data',
  properties: {
    eventId: p.uuid().primary(),
    data: p.json<Readonly<Record<string, unknown>>>(),
    /** The customer that `data` names. */
    customerId: p.uuid().nullable(),
  },
  indexes: [
    { name: 'event_data_customer_idx', properties: ['customerId'], where: 'customer_id is not null' },
  ],
});

export const EndpointSchema = defineEntity({
  name: 'Endpoint',
  tableName: 'event_endpoint',
  properties: {
    id: p.uuid().primary(),
    url: p.text(),
    /** Types, or patterns such as `license.*`. */
    eventTypes: p.array<string>(),
    /** UUIDs. Without apps and slots, it receives events of all. */
    appIds: p.array<string>().columnType('uuid[]').default([]),
    slotIds: p.array<string>().columnType('uuid[]').default([]),
    includeKeys: p.boolean().default(false),
    description: p.text().default(''),
    /** Sealed for `event_endpoint:<id>`; null once the endpoint is removed. */
    sealedSecret: p.blob().nullable(),
    /** The secret before the last rotation, sealed for `event_endpoint:<id>`. */
    sealedPreviousSecret: p.blob().nullable(),
    previousSecretUntil: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    disabledAt: p.datetime(3).nullable(),
    disabledReason: p.text().nullable(),
    /** When the first of the deliveries that failed since the last success failed. */
    failingSince: p.datetime(3).nullable(),
    /** Removed endpoints stay, because deliveries refer to them. */
    removedAt: p.datetime(3).nullable(),
  },
});
export type Endpoint = InferEntity<typeof EndpointSchema>;

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryStateName = (typeof DELIVERY_STATES)[number];

export const DeliverySchema = defineEntity({
  name: 'Delivery',
  tableName: 'event_delivery',
  properties: {
    eventId: p.uuid().primary(),
    endpoint: () => p.manyToOne(EndpointSchema).primary().deleteRule('restrict'),
    state: p.enum(DELIVERY_STATES),
    /** Since the last replay. */
    attempts: p.integer().default(0),
    /** While a hub delivers it: when another one may. Null unless it is pending. */
    nextAttemptAt: p.datetime(3).nullable(),
    lastAttemptAt: p.datetime(3).nullable(),
    responseStatus: p.integer().nullable(),
    responseBody: p.text().nullable(),
    problem: p.text().nullable(),
    durationMs: p.integer().nullable(),
  },
  indexes: [
    { name: 'event_delivery_endpoint_idx', properties: ['endpoint', 'eventId'] },
    {
      name: 'event_delivery_due_idx',
      properties: ['endpoint', 'nextAttemptAt'],
      where: `state = 'pending'`,
    },
    { name: 'event_delivery_failed_idx', properties: ['endpoint', 'eventId'], where: `state = 'failed'` },
  ],
});
export type Delivery = InferEntity<typeof DeliverySchema>;

export const eventEntities = [
  EventOutboxSchema,
  EventCounterSchema,
  LicenseExpiryMarkSchema,
  EventSchema,
  EventDataSchema,
  EndpointSchema,
  DeliverySchema,
];
