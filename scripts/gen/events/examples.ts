// Example objects of events. A test compares their members with those of real events.
import type { DescMessage, JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { showObject } from '../../../core/event/read-objects.ts';
import { CustomerSchema } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { EndpointSchema } from '../../../gen/hub/event/v1/event_pb.ts';
import { LicenseSchema, LicenseState, SeatSchema } from '../../../gen/hub/license/v1/license_pb.ts';
import { OrderSchema, OrderState, TakenBack } from '../../../gen/hub/order/v1/order_pb.ts';
import {
  CallbackSchema,
  CallbackState,
  ChargeSessionSchema,
  ChargeStatus,
} from '../../../gen/hub/payment/v1/payment_pb.ts';
import {
  RefundKind,
  RefundOrigin,
  RefundSchema,
  RefundState,
} from '../../../gen/hub/payment/v1/refund_pb.ts';
import type { EventType } from '../../../lib/presentation/event-types.ts';

/** When the changes of the examples were made. */
export const EXAMPLE_TIME = new Date('2027-03-01T09:30:00.125Z');

/** The fields of a message, which is not one yet. */
type Fields<S extends DescMessage> = Extract<MessageInitShape<S>, { readonly $typeName?: never }>;

const at = timestampFromDate;
const NOW = at(EXAMPLE_TIME);
const CREATED = at(new Date('2026-03-01T09:30:00.482Z'));
const DAY_MS = 86_400_000;
const daysLater = (days: number) => at(new Date(EXAMPLE_TIME.getTime() + days * DAY_MS));

const CUSTOMER_ID = 'cus_01jqv3zdfye7bt4w9x0kqm2n5r';
const LICENSE_ID = 'lic_01jqv3zdh6f0mvc8a2t5s7y9ze';
const SESSION_ID = 'chs_01jqv3zdhqfn6b1d4g7h9k2m5p';

const TERMS: Fields<typeof LicenseSchema> = {
  licenseId: LICENSE_ID,
  app: 'photo-desk',
  keyHint: 'KM4TZ',
  state: LicenseState.ACTIVE,
  seats: { used: 0, limit: 3 },
  limits: { exports: 500n },
  ownLimits: { exports: 500n },
  customer: 'Ada Lovelace',
  customerId: CUSTOMER_ID,
  createdAt: NOW,
  expiresAt: daysLater(365),
  graceDays: 14,
  graceEndsAt: daysLater(379),
  leaseDays: 30,
  features: ['raw'],
  metadata: { order: 'ORD-1042' },
  termsVersion: 1,
  keyGeneration: 1,
  keyDerivable: true,
};

const newLicense = (change: Fields<typeof LicenseSchema> = {}): JsonObject =>
  showObject(LicenseSchema, { ...TERMS, ...change });

/** A license in use. */
const license = (change: Fields<typeof LicenseSchema> = {}): JsonObject =>
  newLicense({ createdAt: CREATED, seats: { used: 1, limit: 3 }, lastActiveOn: '2027-02-27', ...change });

const seat = (change: Fields<typeof SeatSchema> = {}): JsonObject =>
  showObject(SeatSchema, {
    seatId: 'seat_01jqv3zdhzf8ktr3w6y9a1c4e7',
    licenseId: LICENSE_ID,
    machineFingerprint: 'a3f1c09e5d7b',
    machineLabel: 'Studio',
    appVersion: '4.2.0',
    activatedAt: NOW,
    lastSeenAt: NOW,
    ...change,
  });

const session = (change: Fields<typeof ChargeSessionSchema>): JsonObject =>
  showObject(ChargeSessionSchema, {
    sessionId: SESSION_ID,
    slot: 'store',
    gateway: 'gateway_one',
    amount: { minorUnits: 4_900n, currency: 'BDT' },
    orderReference: 'ORD-1042',
    customer: { name: 'Ada Lovelace', email: 'ada@example.com' },
    merchantTransactionId: '01JQV3ZDHQFN6B1D4G7H9K2M5P',
    providerPaymentId: '8C898A1E7098CB5E63BA7CEFC9F855FF',
    checkoutUrl: 'https://checkout.example.com/8C898A1E7098CB5E63BA7CEFC9F855FF',
    createdAt: at(new Date(EXAMPLE_TIME.getTime() - 60_000)),
    statusChangedAt: NOW,
    ...change,
  });

const ORDER: Fields<typeof OrderSchema> = {
  orderId: 'ord_01jqv3zdjk8c2m5q9t4w7y0a3d',
  sessionId: SESSION_ID,
  slot: 'store',
  offer: 'photo-desk/pro',
  offerId: 'ofr_01jqv3zdjm4f7h1k6n9r2v5x8b',
  offerVersion: 1,
  quantity: 1,
  amount: { minorUnits: 4_900n, currency: 'BDT' },
  customerId: CUSTOMER_ID,
  createdAt: NOW,
};
const fulfilledOrder = (change: Fields<typeof OrderSchema> = {}): JsonObject =>
  showObject(OrderSchema, {
    ...ORDER,
    state: OrderState.FULFILLED,
    licenses: [{ licenseId: LICENSE_ID, issued: true }],
    fulfilledAt: NOW,
    ...change,
  });

const refund = (change: Fields<typeof RefundSchema>): JsonObject =>
  showObject(RefundSchema, {
    refundId: 'rfd_01jqv3zdk2m5q8t1w4y7a0c3e6',
    sessionId: SESSION_ID,
    slot: 'store',
    gateway: 'gateway_one',
    kind: RefundKind.REFUND,
    origin: RefundOrigin.HUB,
    amount: { minorUnits: 4_900n, currency: 'BDT' },
    reason: 'returned within 14 days',
    state: RefundState.PENDING,
    stateReason: 'not requested yet',
    createdAt: NOW,
    ...change,
  });

const customer = (change: Fields<typeof CustomerSchema> = {}): JsonObject =>
  showObject(CustomerSchema, {
    customerId: CUSTOMER_ID,
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    externalRef: 'shop-7781',
    createdAt: CREATED,
    ...change,
  });

const endpoint = (change: Fields<typeof EndpointSchema> = {}): JsonObject =>
  showObject(EndpointSchema, {
    endpointId: 'whe_01jqv3zdj5e4sv2x8z0b3d6f9h',
    url: 'https://shop.example.com/hooks/hub',
    events: ['license.*'],
    createdAt: CREATED,
    ...change,
  });

const PAID = {
  status: ChargeStatus.SUCCESS,
  statusReason: 'the provider says VALID: 49.00 BDT',
  statusVerified: true,
  gatewayTransactionId: '9C984DE5ED4B6AF3E585',
  riskLevel: 0,
  riskTitle: 'Safe',
};

/** The data of an event of each type. */
export const EXAMPLES: Readonly<Record<EventType, JsonObject>> = {
  'license.issued': newLicense(),
  'license.imported': newLicense({ keyDerivable: false }),
  'license.updated': license({ features: ['layers', 'raw'], termsVersion: 2 }),
  'license.renewed': license({ termsVersion: 2 }),
  'license.expiring': license({ expiresAt: daysLater(14), graceEndsAt: daysLater(28) }),
  'license.expired': license({
    state: LicenseState.EXPIRED,
    expiresAt: daysLater(-14),
    graceEndsAt: NOW,
  }),
  'license.suspended': license({
    state: LicenseState.SUSPENDED,
    suspendedAt: NOW,
    suspendReason: 'invoice overdue',
    termsVersion: 2,
  }),
  'license.resumed': license({ termsVersion: 3 }),
  'license.revoked': license({ state: LicenseState.REVOKED, revokedAt: NOW, revokeReason: 'refunded' }),
  'license.reinstated': license(),
  'license.rekeyed': license({ keyHint: 'P7WQX', keyGeneration: 2 }),
  'license.transferred': license({
    customer: 'Grace Hopper',
    customerId: 'cus_01jqv3zdjbfvr9s1t4v7x0z3b6',
    termsVersion: 2,
  }),
  'seat.activated': seat(),
  'seat.released': seat({ activatedAt: CREATED, releasedAt: NOW }),
  'session.succeeded': session(PAID),
  'session.failed': session({
    status: ChargeStatus.FAILED,
    statusReason: 'the provider says FAILED',
    statusVerified: true,
  }),
  'session.cancelled': session({
    status: ChargeStatus.CANCELLED,
    statusReason: 'a callback said CANCELLED',
  }),
  'session.reopened': session({ status: ChargeStatus.PENDING, statusReason: 'waiting for the customer' }),
  'session.reversed': session({
    ...PAID,
    status: ChargeStatus.CANCELLED,
    statusReason: 'the provider says REVERSED: 49.00 BDT',
  }),
  'refund.created': refund({}),
  'refund.succeeded': refund({
    state: RefundState.SUCCEEDED,
    stateReason: 'the provider says refunded',
    gatewayRefundId: '59BD63FE',
    finishedAt: NOW,
  }),
  'refund.failed': refund({
    state: RefundState.FAILED,
    stateReason: 'the provider refused: the balance of the store is too low',
    finishedAt: NOW,
  }),
  'order.fulfilled': fulfilledOrder(),
  'order.blocked': showObject(OrderSchema, {
    ...ORDER,
    orderId: 'ord_01jqv3zdjn1b4e7h0k3n6r9t2w',
    offer: 'photo-desk/renewal',
    offerId: 'ofr_01jqv3zdjp5s8v1x4z7b0d3f6h',
    offerVersion: 2,
    state: OrderState.BLOCKED,
    reason: 'this license has been revoked: reinstate it before you renew it',
  }),
  'order.refunded': fulfilledOrder({
    state: OrderState.REFUNDED,
    reason: 'the provider reversed the payment',
    licenses: [{ licenseId: LICENSE_ID, issued: true, takenBack: TakenBack.SUSPENDED }],
    refundedAt: NOW,
  }),
  'callback.dead': showObject(CallbackSchema, {
    callbackId: 'cb_01jqv3zdjhe0pwn5q8s1v4x7za',
    gateway: 'gateway_one',
    sessionId: SESSION_ID,
    state: CallbackState.DEAD,
    fields: { status: 'VALID', tran_id: '01JQV3ZDHQFN6B1D4G7H9K2M5P', val_id: '9F787AA030C8F6A94AA1' },
    attempts: 31,
    reason: 'given up: the provider answered with HTTP 500',
    receivedAt: daysLater(-1),
    finishedAt: NOW,
  }),
  'customer.created': customer({ createdAt: NOW }),
  'customer.updated': customer({ email: 'ada@lovelace.example' }),
  'customer.erased': showObject(CustomerSchema, {
    customerId: CUSTOMER_ID,
    createdAt: CREATED,
    erasedAt: NOW,
  }),
  'endpoint.disabled': endpoint({
    disabledAt: NOW,
    disabledReason: 'all deliveries have failed since 2027-02-26T09:24:31.004Z',
  }),
  'endpoint.test': endpoint(),
};
