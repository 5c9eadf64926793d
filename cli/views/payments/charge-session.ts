// JSON schema and columns of charge sessions.
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CHARGE_STATUSES } from '../../../lib/presentation/enum-names.ts';
import { soldText } from '../../../lib/presentation/order-text.ts';
import { riskText } from '../../../lib/presentation/risk.ts';
import { unconfirmedText } from '../../../lib/presentation/session-timeline.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { pairsText } from '../cells.ts';
import * as json from '../schema.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

const PURCHASE = json.view('Purchase', 'hub.payment.v1.Purchase', {
  offer: json.text(),
  offerId: json.id('ofr'),
  offerVersion: json.integer(),
  quantity: json.integer(),
  customerId: json.optional(json.id('cus', 'the customer, if the request named one')),
  licenseId: json.optional(json.id('lic', 'the license to renew or to add seats to')),
});

export const CHARGE_SESSION = json.view('ChargeSession', 'hub.payment.v1.ChargeSession', {
  sessionId: json.id('chs'),
  status: json.word(CHARGE_STATUSES),
  statusVerified: json.boolean(),
  statusReason: json.text(),
  slot: json.text(),
  gateway: json.text(),
  ...MONEY.properties,
  orderReference: json.text(),
  checkoutUrl: json.text(),
  merchantTransactionId: json.text(),
  providerPaymentId: json.text(),
  gatewayTransactionId: json.optional(
    json.text("the provider's id of the payment that settled it; only if it was paid"),
  ),
  refunded: json.optional(json.withDescription(MONEY, 'the part of the payment that was paid back')),
  riskLevel: json.optional(
    json.integer("the provider's risk rating of the payment, 0 is safe; missing without a rating"),
  ),
  riskTitle: json.optional(json.text("the provider's title of the rating")),
  heldAt: json.optional(json.time('since when the payment has been held for review; only while it is')),
  releasedAt: json.optional(json.time('when an operator released it despite the risk')),
  customer: json.map(json.text(), "the payer's details, if given: `name`, `email`, `phone` …"),
  metadata: json.map(json.text()),
  purchase: json.optional(json.withDescription(PURCHASE, 'what it sells; missing without an offer')),
  returnUrl: json.optional(json.text("where the customer's browser returns to after the checkout")),
  language: json.optional(json.text("language of the customer's mails")),
  createdAt: json.time(),
  statusChangedAt: json.time(),
});
export type ChargeSessionView = json.ValueOf<typeof CHARGE_SESSION>;

/** A new session. No other command shows the claim token. */
export const CREATED_SESSION = json.object('CreatedSession', {
  ...CHARGE_SESSION.properties,
  claimToken: json.optional(
    json.text(
      'shows the result and the license keys at GET /v1/orders/{sessionId}; only with an offer or a return URL',
    ),
  ),
});

export function chargeSessionView(session: ChargeSession | undefined): ChargeSessionView {
  const { $typeName: _, $unknown: _u, ...payer } = session?.customer ?? {};
  const customer = Object.fromEntries(Object.entries(payer).filter(([, value]) => value !== ''));
  return json.viewOf(CHARGE_SESSION, session, { ...moneyView(session?.amount), customer });
}

export const CHARGE_SESSION_FIELDS: readonly Column<ChargeSessionView>[] = [
  { title: 'Session', cell: (item) => item.sessionId },
  { title: 'Status', cell: ({ status, heldAt }) => (heldAt === undefined ? status : `${status} (held)`) },
  { title: 'Why', cell: (item) => item.statusReason + unconfirmedText(item.status, item.statusVerified) },
  { title: 'Amount', cell: moneyText, right: true },
  { title: 'Refunded', cell: ({ refunded }) => refunded && moneyText(refunded) },
  { title: 'Sells', cell: ({ purchase }) => purchase && soldText(purchase) },
  { title: 'For license', cell: ({ purchase }) => purchase?.licenseId },
  { title: 'Order', cell: (item) => item.orderReference },
  { title: 'Slot', cell: (item) => `${item.slot} (${item.gateway})` },
  { title: 'Customer', cell: (item) => pairsText(item.customer) },
  { title: 'Metadata', cell: (item) => pairsText(item.metadata) },
  ...columnsOf(CHARGE_SESSION, 'merchantTransactionId', 'providerPaymentId'),
  { title: 'Provider transaction', cell: (item) => item.gatewayTransactionId },
  { title: 'Risk', cell: (item) => riskText(item.riskLevel, item.riskTitle) },
  ...columnsOf(CHARGE_SESSION, { heldAt: 'Held since' }, 'releasedAt', { checkoutUrl: 'Checkout' }),
  ...columnsOf(CHARGE_SESSION, { returnUrl: 'Returns to' }, 'language', 'createdAt'),
  ...columnsOf(CHARGE_SESSION, { statusChangedAt: 'Status since' }),
];

export const CHARGE_SESSION_COLUMNS: readonly Column<ChargeSessionView>[] = [
  ...pick(CHARGE_SESSION_FIELDS, 'Session', 'Status', 'Amount'),
  { title: 'Slot', cell: (item) => item.slot },
  ...pick(CHARGE_SESSION_FIELDS, 'Created', 'Order'),
  { title: 'Why', cell: (item) => item.statusReason },
];

export const CREATED_SESSION_FIELDS: readonly Column<json.ValueOf<typeof CREATED_SESSION>>[] = [
  ...CHARGE_SESSION_FIELDS,
  { title: 'Claim token', cell: (item) => item.claimToken },
];
