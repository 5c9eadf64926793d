// JSON schema and columns of orders.
import type { Order } from '../../../gen/hub/order/v1/order_pb.ts';
import { ORDER_STATES, TAKEN_BACK } from '../../../lib/presentation/enum-names.ts';
import { grantedText, soldText, takenText } from '../../../lib/presentation/order-text.ts';
import { type CsvColumns, csv } from '../../output/csv.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { MONEY, moneyText, moneyView } from '../payments/money.ts';
import * as json from '../schema.ts';

const ORDER_LICENSE = json.view('OrderLicense', 'hub.order.v1.OrderLicense', {
  licenseId: json.id('lic'),
  issued: json.boolean(),
  expiresBefore: json.optional(json.time('the expiry before a renewal')),
  expiresAfter: json.optional(json.time('the expiry after a renewal')),
  seatsAdded: json.unlessZero(json.integer('the seats that the order added')),
  takenBack: json.optional(json.word(TAKEN_BACK, 'what the hub did with it when the order was refunded')),
  seatsTaken: json.unlessZero(json.integer('the seats that the hub took back')),
  timeTakenMs: json.unlessZero(json.integer('the time that the hub took from the expiry, in milliseconds')),
});

export const ORDER = json.view('Order', 'hub.order.v1.Order', {
  orderId: json.id('ord'),
  state: json.word(ORDER_STATES),
  reason: json.optional(json.text('why it is blocked or refunded, and what the hub left unchanged')),
  offer: json.text(),
  offerId: json.id('ofr'),
  offerVersion: json.integer(),
  quantity: json.integer(),
  ...MONEY.properties,
  sessionId: json.id('chs'),
  slot: json.text(),
  customerId: json.optional(json.id('cus', 'the customer, if the session names one')),
  licenses: json.list(ORDER_LICENSE),
  createdAt: json.time(),
  fulfilledAt: json.optional(json.time('when it was fulfilled; missing while it is blocked')),
  refundedAt: json.optional(json.time('when the hub took back its licenses; missing unless it is refunded')),
});
export type OrderView = json.ValueOf<typeof ORDER>;

export const orderView = (order: Order | undefined): OrderView =>
  json.viewOf(ORDER, order, moneyView(order?.amount));

export const ORDER_FIELDS: readonly Column<OrderView>[] = [
  ...columnsOf(ORDER, 'orderId', 'state', { reason: 'Why' }),
  { title: 'Sold', cell: soldText },
  { title: 'Amount', cell: moneyText, right: true },
  { title: 'Customer', cell: (item) => item.customerId },
  { title: 'Session', cell: (item) => `${item.sessionId} through ${item.slot}` },
  ...columnsOf(ORDER, { createdAt: 'Paid' }, 'fulfilledAt', 'refundedAt'),
];

export const ORDER_COLUMNS: readonly Column<OrderView>[] = [
  ...pick(ORDER_FIELDS, 'Order', 'State'),
  ...columnsOf(ORDER, 'offer', 'quantity'),
  ...pick(ORDER_FIELDS, 'Amount'),
  { title: 'Slot', cell: (item) => item.slot },
  ...pick(ORDER_FIELDS, 'Paid'),
  { title: 'Session', cell: (item) => item.sessionId },
  ...pick(ORDER_FIELDS, 'Why'),
];

export const ORDER_LICENSE_COLUMNS: readonly Column<json.ValueOf<typeof ORDER_LICENSE>>[] = [
  { title: 'License', cell: (item) => item.licenseId },
  { title: 'Granted', cell: grantedText },
  ...columnsOf(ORDER_LICENSE, { expiresBefore: 'Expired', expiresAfter: 'Expires' }),
  { title: 'Taken back', cell: takenText },
];

/** The columns of a CSV file. The licenses are separated by semicolons. */
export const ORDER_CSV: CsvColumns<OrderView> = {
  ...csv<OrderView>('orderId', 'state', 'offer', 'offerVersion', 'quantity', 'amount', 'currency'),
  ...csv<OrderView>('sessionId', 'slot', 'customerId'),
  licenses: (item) => item.licenses.map(({ licenseId }) => licenseId).join(';'),
  ...csv<OrderView>('createdAt', 'fulfilledAt', 'refundedAt', 'reason'),
};
