// JSON schema and columns of orders.
import type { Order, OrderLicense } from '../../../gen/hub/order/v1/order_pb.ts';
import { grantedText, soldText, takenText } from '../../../lib/presentation/order-text.ts';
import { ORDER_STATES, TAKEN_BACK, wordFor } from '../../../lib/presentation/words.ts';
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
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import type { CsvColumns } from '../../output/table-or-csv.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { MONEY, moneyText, moneyView } from '../payments/money.ts';

const ORDER_LICENSE = object(
  'OrderLicense',
  {
    licenseId: id('lic'),
    issued: boolean(),
    expiresBefore: optional(time('the expiry before a renewal')),
    expiresAfter: optional(time('the expiry after a renewal')),
    seatsAdded: optional(integer('the seats that the order added')),
    takenBack: optional(word(TAKEN_BACK, 'what the hub did with it when the order was refunded')),
    seatsTaken: optional(integer('the seats that the hub took back')),
    timeTakenMs: optional(integer('the time that the hub took from the expiry, in milliseconds')),
  },
  { message: 'hub.order.v1.OrderLicense' },
);
export type OrderLicenseView = ValueOf<typeof ORDER_LICENSE>;

export const ORDER = object(
  'Order',
  {
    orderId: id('ord'),
    state: word(ORDER_STATES),
    reason: optional(text('why it is blocked or refunded, and what the hub left unchanged')),
    offer: text(),
    offerId: id('ofr'),
    offerVersion: integer(),
    quantity: integer(),
    ...MONEY.properties,
    sessionId: id('chs'),
    slot: text(),
    customerId: optional(id('cus', 'the customer, if the session names one')),
    licenses: list(ORDER_LICENSE),
    createdAt: time(),
    fulfilledAt: optional(time('when it was fulfilled; missing while it is blocked')),
    refundedAt: optional(time('when the hub took back its licenses; missing unless it is refunded')),
  },
  { message: 'hub.order.v1.Order' },
);
export type OrderView = ValueOf<typeof ORDER>;

export function orderView(order: Order): OrderView {
  return {
    orderId: order.orderId,
    state: wordFor(ORDER_STATES, order.state),
    ...(order.reason !== '' && { reason: order.reason }),
    offer: order.offer,
    offerId: order.offerId,
    offerVersion: order.offerVersion,
    quantity: order.quantity,
    ...moneyView(order.amount),
    sessionId: order.sessionId,
    slot: order.slot,
    ...(order.customerId !== '' && { customerId: order.customerId }),
    licenses: order.licenses.map(orderLicenseView),
    createdAt: rfc3339(requireField(order.createdAt, 'time of the payment')),
    ...(order.fulfilledAt && { fulfilledAt: rfc3339(order.fulfilledAt) }),
    ...(order.refundedAt && { refundedAt: rfc3339(order.refundedAt) }),
  };
}

function orderLicenseView(license: OrderLicense): OrderLicenseView {
  const { licenseId, issued, expiresBefore, expiresAfter, seatsAdded } = license;
  const { takenBack, seatsTaken, timeTakenMs } = license;
  return {
    licenseId,
    issued,
    ...(expiresBefore && { expiresBefore: rfc3339(expiresBefore) }),
    ...(expiresAfter && { expiresAfter: rfc3339(expiresAfter) }),
    ...(seatsAdded !== 0 && { seatsAdded }),
    ...(takenBack !== 0 && { takenBack: wordFor(TAKEN_BACK, takenBack) }),
    ...(seatsTaken !== 0 && { seatsTaken }),
    ...(timeTakenMs !== 0n && { timeTakenMs: Number(timeTakenMs) }),
  };
}

export const ORDER_COLUMNS: readonly Column<OrderView>[] = [
  { title: 'ORDER', cell: (item) => item.orderId },
  { title: 'STATE', cell: (item) => item.state },
  { title: 'OFFER', cell: (item) => item.offer },
  { title: 'QUANTITY', cell: (item) => item.quantity, right: true },
  { title: 'AMOUNT', cell: moneyText, right: true },
  { title: 'SLOT', cell: (item) => item.slot },
  { title: 'PAID', cell: (item) => shortTime(item.createdAt) },
  { title: 'SESSION', cell: (item) => item.sessionId },
  { title: 'WHY', cell: (item) => item.reason },
];

export const ORDER_FIELDS: readonly Column<OrderView>[] = [
  { title: 'Order', cell: (item) => item.orderId },
  { title: 'State', cell: (item) => item.state },
  { title: 'Why', cell: (item) => item.reason },
  { title: 'Sold', cell: soldText },
  { title: 'Amount', cell: moneyText },
  { title: 'Customer', cell: (item) => item.customerId },
  { title: 'Session', cell: (item) => `${item.sessionId} through ${item.slot}` },
  { title: 'Paid', cell: (item) => shortTime(item.createdAt) },
  { title: 'Fulfilled', cell: (item) => shortTime(item.fulfilledAt) },
  { title: 'Refunded', cell: (item) => shortTime(item.refundedAt) },
];

export const ORDER_LICENSE_COLUMNS: readonly Column<OrderLicenseView>[] = [
  { title: 'LICENSE', cell: (item) => item.licenseId },
  { title: 'GRANTED', cell: grantedText },
  { title: 'EXPIRED', cell: (item) => shortTime(item.expiresBefore) },
  { title: 'EXPIRES', cell: (item) => shortTime(item.expiresAfter) },
  { title: 'TAKEN BACK', cell: takenText },
];

/** The columns of a CSV file. The licenses are separated by semicolons. */
export const ORDER_CSV: CsvColumns<OrderView> = {
  orderId: (item) => item.orderId,
  state: (item) => item.state,
  offer: (item) => item.offer,
  offerVersion: (item) => String(item.offerVersion),
  quantity: (item) => String(item.quantity),
  amount: (item) => item.amount,
  currency: (item) => item.currency,
  sessionId: (item) => item.sessionId,
  slot: (item) => item.slot,
  customerId: (item) => item.customerId ?? '',
  licenses: (item) => item.licenses.map(({ licenseId }) => licenseId).join(';'),
  createdAt: (item) => item.createdAt,
  fulfilledAt: (item) => item.fulfilledAt ?? '',
  refundedAt: (item) => item.refundedAt ?? '',
  reason: (item) => item.reason ?? '',
};
