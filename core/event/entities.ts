// The tables of the event module.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { partial } from '../storage/schema/partial-index.ts';

/**
 * Events without a number. The sequencer moves them to `event`. One row has the events of one type that a
 * transaction records together: a row for each event would cost activations 8 µs more.
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

/**
 * The row `events` has the number of the last event, and `pruned` that of the last event that was pruned.
 * Without such an event, there is no row.
 */
const EventCounterSchema = defineEntity({
  name: 'EventCounter',
  tableName: 'event_counter',
  properties: { name: p.text().primary(), lastNumber: p.bigint() },
});

/**
 * For each type of event about expiry, the time up to which the expiries of licenses are recorded as events.
 */
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
    /** From 1, without gaps. Unique, because one sequencer at a time numbers events. */
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

/**
 * The object of a delivered event at the time of its numbering. Without a row, an event shows the current
 * object.
 */
const EventDataSchema = defineEntity({
  name: 'EventData',
  tableName: 'event_data',
  properties: {
    eventId: p.uuid().primary(),
    data: p.json<Readonly<Record<string, unknown>>>(),
    /** The customer whose personal data `data` may contain. */
    customerId: p.uuid().nullable(),
  },
  indexes: [partial('event_data_customer_idx', ['customerId'], 'customer_id is not null')],
});

export const EndpointSchema = defineEntity({
  name: 'Endpoint',
  tableName: 'event_endpoint',
  properties: {
    id: p.uuid().primary(),
    url: p.text(),
    /** Types, or patterns such as `license.*`. */
    eventTypes: p.array<string>(),
    /** UUIDs. Without apps and slots, the endpoint receives the events of all objects. */
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
    /**
     * The time of the first attempt that the endpoint failed since its last success; null without one.
     * An attempt does not count if the hub cannot build the delivery.
     */
    failingSince: p.datetime(3).nullable(),
    /** The row of a removed endpoint stays, because deliveries refer to it. */
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
    /** Attempts since the last replay. */
    attempts: p.integer().default(0),
    /** During a claim, the end of the claim. Null unless the delivery is pending. */
    nextAttemptAt: p.datetime(3).nullable(),
    lastAttemptAt: p.datetime(3).nullable(),
    responseStatus: p.integer().nullable(),
    responseBody: p.text().nullable(),
    problem: p.text().nullable(),
    durationMs: p.integer().nullable(),
  },
  indexes: [
    { name: 'event_delivery_endpoint_idx', properties: ['endpoint', 'eventId'] },
    partial('event_delivery_due_idx', ['endpoint', 'nextAttemptAt'], `state = 'pending'`),
    partial('event_delivery_failed_idx', ['endpoint', 'eventId'], `state = 'failed'`),
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
