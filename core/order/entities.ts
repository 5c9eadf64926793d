// The tables of offers, purchases and orders.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { CustomerSchema } from '../customer/entities.ts';
import { AppSchema, LicenseSchema } from '../license/entities.ts';
import { ChargeSessionSchema, SlotSchema } from '../payment/entities.ts';
import { partial } from '../storage/schema/partial-index.ts';
import type { Grant } from './offers/grant.ts';

export const ORDER_STATES = ['fulfilled', 'blocked', 'refunded'] as const;
export type OrderStateName = (typeof ORDER_STATES)[number];

export const REFUND_POLICIES = ['suspend', 'revoke', 'keep', 'undo'] as const;
/** What a full refund does with the licenses of an order. */
export type RefundPolicyName = (typeof REFUND_POLICIES)[number];

export const TAKEN_BACK = ['suspended', 'revoked', 'undone', 'kept'] as const;
/** What a full refund did with a license. */
export type TakenBackName = (typeof TAKEN_BACK)[number];

/** A price in the catalog of a gateway's provider. */
export type CatalogPrice = { readonly gateway: string; readonly price: string };

export const OfferSchema = defineEntity({
  name: 'Offer',
  tableName: 'offer',
  properties: {
    id: p.uuid().primary(),
    app: () => p.manyToOne(AppSchema).deleteRule('restrict'),
    slug: p.text(),
    /** The current version. */
    version: p.integer(),
    createdAt: p.datetime(3),
    archivedAt: p.datetime(3).nullable(),
  },
  uniques: [{ name: 'offer_slug_key', properties: ['app', 'slug'] }],
});
export type Offer = InferEntity<typeof OfferSchema>;

/** A version of the terms of an offer; never changed. */
export const OfferVersionSchema = defineEntity({
  name: 'OfferVersion',
  tableName: 'offer_version',
  properties: {
    id: p.uuid().primary(),
    offer: () => p.manyToOne(OfferSchema).deleteRule('restrict'),
    version: p.integer(),
    name: p.text(),
    /** Minor units of the price by currency, as decimal text. */
    prices: p.json<Readonly<Record<string, string>>>(),
    /** The grant of the terms; GRANT is a reserved word of SQL. */
    granted: p.json<Grant>(),
    /** The slot through which the hub's own page sells it; null if the page does not. */
    pageSlot: () => p.manyToOne(SlotSchema).nullable().deleteRule('restrict'),
    downloadUrl: p.text().default(''),
    onRefund: p.enum(REFUND_POLICIES),
    /** Prices of providers' catalogs whose purchases outside the hub it grants; sorted. */
    catalogPrices: p.json<readonly CatalogPrice[]>().default('[]'),
    createdAt: p.datetime(3),
  },
  uniques: [{ name: 'offer_version_version_key', properties: ['offer', 'version'] }],
});
export type OfferVersion = InferEntity<typeof OfferVersionSchema>;

/** What a charge session sells. */
export const PurchaseSchema = defineEntity({
  name: 'Purchase',
  tableName: 'purchase',
  properties: {
    session: () => p.oneToOne(ChargeSessionSchema).primary().owner().deleteRule('restrict'),
    offerVersion: () => p.manyToOne(OfferVersionSchema).deleteRule('restrict'),
    quantity: p.integer(),
    customer: () => p.manyToOne(CustomerSchema).nullable().deleteRule('restrict'),
    /** The license to renew or to add seats to; null for new licenses. */
    license: () => p.manyToOne(LicenseSchema).nullable().deleteRule('restrict'),
  },
  indexes: [partial('purchase_customer_idx', ['customer'], 'customer_id is not null')],
  checks: [{ name: 'purchase_quantity_positive', expression: 'quantity > 0' }],
});

/** The tokens with which a shop or a browser reads the result of a session. */
export const ClaimTokenSchema = defineEntity({
  name: 'ClaimToken',
  tableName: 'claim_token',
  properties: {
    /** SHA-256 of the token; the token itself is not stored. */
    hash: p.blob().primary(),
    session: () => p.manyToOne(ChargeSessionSchema).deleteRule('restrict'),
    createdAt: p.datetime(3),
  },
  indexes: [
    { name: 'claim_token_session_idx', properties: ['session', 'createdAt'] },
    { name: 'claim_token_created_idx', properties: ['createdAt'] },
  ],
});

/** The order of a paid session. */
export const OrderSchema = defineEntity({
  name: 'Order',
  tableName: 'sales_order',
  properties: {
    id: p.uuid().primary(),
    purchase: () =>
      p
        .oneToOne(PurchaseSchema)
        .owner()
        .fieldName('session_id')
        .unique('sales_order_session_id_key')
        .deleteRule('restrict'),
    app: () => p.manyToOne(AppSchema).deleteRule('restrict'),
    offer: () => p.manyToOne(OfferSchema).deleteRule('restrict'),
    slot: () => p.manyToOne(SlotSchema).deleteRule('restrict'),
    customer: () => p.manyToOne(CustomerSchema).nullable().deleteRule('restrict'),
    state: p.enum(ORDER_STATES),
    /** Why it is blocked or refunded, and what a refund or a later payment left unchanged. */
    reason: p.text().default(''),
    createdAt: p.datetime(3),
    fulfilledAt: p.datetime(3).nullable(),
    /** Null unless it is refunded. */
    refundedAt: p.datetime(3).nullable(),
  },
  indexes: [
    { name: 'sales_order_app_idx', properties: ['app', 'id'] },
    { name: 'sales_order_offer_idx', properties: ['offer', 'id'] },
    { name: 'sales_order_slot_idx', properties: ['slot', 'id'] },
    { name: 'sales_order_created_idx', properties: ['createdAt', 'id'] },
    partial('sales_order_customer_idx', ['customer', 'id'], 'customer_id is not null'),
    partial('sales_order_blocked_idx', ['id'], `state = 'blocked'`),
  ],
});

/** The licenses that an order issued or changed, with what a refund takes back. */
export const OrderLicenseSchema = defineEntity({
  name: 'OrderLicense',
  tableName: 'order_license',
  properties: {
    order: () => p.manyToOne(OrderSchema).primary().deleteRule('restrict'),
    license: () => p.manyToOne(LicenseSchema).primary().deleteRule('restrict'),
    issued: p.boolean(),
    expiresBefore: p.datetime(3).nullable(),
    expiresAfter: p.datetime(3).nullable(),
    seatsAdded: p.integer().default(0),
    /** Null unless the order is refunded, or a payment after a reversal is blocked. */
    takenBack: p.enum(TAKEN_BACK).nullable(),
    seatsTaken: p.integer().default(0),
    /** Milliseconds taken from the expiry. */
    timeTakenMs: p.bigint('number').defaultRaw('0'),
  },
  indexes: [{ name: 'order_license_license_idx', properties: ['license', 'order'] }],
});

export const orderEntities = [
  OfferSchema,
  OfferVersionSchema,
  PurchaseSchema,
  ClaimTokenSchema,
  OrderSchema,
  OrderLicenseSchema,
];
