// JSON schema and columns of charge sessions.
import type { ChargeSession, Purchase } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { soldText } from '../../../lib/presentation/order-text.ts';
import { riskText } from '../../../lib/presentation/risk.ts';
import { unconfirmedText } from '../../../lib/presentation/session-timeline.ts';
import { CHARGE_STATUSES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  id,
  integer,
  map,
  object,
  optional,
  text,
  time,
  type ValueOf,
  withDescription,
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { pairsText, rfc3339, shortTime } from '../cells.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

const PURCHASE = object(
  'Purchase',
  {
    offer: text(),
    offerId: id('ofr'),
    offerVersion: integer(),
    quantity: integer(),
    customerId: optional(id('cus', 'the customer, if the request named one')),
    licenseId: optional(id('lic', 'the license to renew or to add seats to')),
  },
  { message: 'hub.payment.v1.Purchase' },
);

export const CHARGE_SESSION = object(
  'ChargeSession',
  {
    sessionId: id('chs'),
    status: word(CHARGE_STATUSES),
    statusVerified: boolean(),
    statusReason: text(),
    slot: text(),
    gateway: text(),
    ...MONEY.properties,
    orderReference: text(),
    checkoutUrl: text(),
    merchantTransactionId: text(),
    providerPaymentId: text(),
    gatewayTransactionId: optional(
      text("the provider's id of the payment that settled it; only if it was paid"),
    ),
    refunded: optional(withDescription(MONEY, 'the part of the payment that was paid back')),
    riskLevel: optional(
      integer("the provider's risk rating of the payment, 0 is safe; missing without a rating"),
    ),
    riskTitle: optional(text("the provider's title of the rating")),
    heldAt: optional(time('since when the payment has been held for review; only while it is')),
    releasedAt: optional(time('when an operator released it despite the risk')),
    customer: map(text(), "the payer's details, if given: `name`, `email`, `phone` …"),
    metadata: map(text()),
    purchase: optional(withDescription(PURCHASE, 'what it sells; missing without an offer')),
    returnUrl: optional(text("where the customer's browser returns to after the checkout")),
    language: optional(text("language of the customer's mails")),
    createdAt: time(),
    statusChangedAt: time(),
  },
  { message: 'hub.payment.v1.ChargeSession' },
);
export type ChargeSessionView = ValueOf<typeof CHARGE_SESSION>;

/** A new session. No other command shows the claim token. */
export const CREATED_SESSION = object('CreatedSession', {
  ...CHARGE_SESSION.properties,
  claimToken: optional(
    text(
      'shows the result and the license keys at GET /v1/orders/{sessionId}; only with an offer or a return URL',
    ),
  ),
});

export function chargeSessionView(session: ChargeSession): ChargeSessionView {
  const { $typeName: _, $unknown: _u, ...customer } = session.customer ?? {};
  return {
    sessionId: session.sessionId,
    status: wordFor(CHARGE_STATUSES, session.status),
    statusVerified: session.statusVerified,
    statusReason: session.statusReason,
    slot: session.slot,
    gateway: session.gateway,
    ...moneyView(session.amount),
    orderReference: session.orderReference,
    checkoutUrl: session.checkoutUrl,
    merchantTransactionId: session.merchantTransactionId,
    providerPaymentId: session.providerPaymentId,
    ...(session.gatewayTransactionId !== '' && { gatewayTransactionId: session.gatewayTransactionId }),
    ...(session.refunded && { refunded: moneyView(session.refunded) }),
    ...(session.riskLevel !== undefined && { riskLevel: session.riskLevel }),
    ...(session.riskTitle !== '' && { riskTitle: session.riskTitle }),
    ...(session.heldAt && { heldAt: rfc3339(session.heldAt) }),
    ...(session.releasedAt && { releasedAt: rfc3339(session.releasedAt) }),
    customer: Object.fromEntries(Object.entries(customer).filter(([, value]) => value !== '')),
    metadata: session.metadata,
    ...(session.purchase && { purchase: purchaseView(session.purchase) }),
    ...(session.returnUrl !== '' && { returnUrl: session.returnUrl }),
    ...(session.language !== '' && { language: session.language }),
    createdAt: rfc3339(requireField(session.createdAt, 'creation time')),
    statusChangedAt: rfc3339(requireField(session.statusChangedAt, 'status time')),
  };
}

function purchaseView(purchase: Purchase): ValueOf<typeof PURCHASE> {
  const { offer, offerId, offerVersion, quantity, customerId, licenseId } = purchase;
  return {
    offer,
    offerId,
    offerVersion,
    quantity,
    ...(customerId !== '' && { customerId }),
    ...(licenseId !== '' && { licenseId }),
  };
}

export const CHARGE_SESSION_COLUMNS: readonly Column<ChargeSessionView>[] = [
  { title: 'SESSION', cell: (item) => item.sessionId },
  { title: 'STATUS', cell: statusText },
  { title: 'AMOUNT', cell: moneyText, right: true },
  { title: 'SLOT', cell: (item) => item.slot },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
  { title: 'ORDER', cell: (item) => item.orderReference },
  { title: 'WHY', cell: (item) => item.statusReason },
];

export const CHARGE_SESSION_FIELDS: readonly Column<ChargeSessionView>[] = [
  { title: 'Session', cell: (item) => item.sessionId },
  { title: 'Status', cell: statusText },
  { title: 'Why', cell: (item) => item.statusReason + unconfirmedText(item.status, item.statusVerified) },
  { title: 'Amount', cell: moneyText },
  { title: 'Refunded', cell: ({ refunded }) => refunded && moneyText(refunded) },
  { title: 'Sells', cell: ({ purchase }) => purchase && soldText(purchase) },
  { title: 'For license', cell: ({ purchase }) => purchase?.licenseId },
  { title: 'Order', cell: (item) => item.orderReference },
  { title: 'Slot', cell: (item) => `${item.slot} (${item.gateway})` },
  { title: 'Customer', cell: (item) => pairsText(item.customer) },
  { title: 'Metadata', cell: (item) => pairsText(item.metadata) },
  { title: 'Merchant transaction', cell: (item) => item.merchantTransactionId },
  { title: 'Provider payment', cell: (item) => item.providerPaymentId },
  { title: 'Provider transaction', cell: (item) => item.gatewayTransactionId },
  { title: 'Risk', cell: (item) => riskText(item.riskLevel, item.riskTitle) },
  { title: 'Held since', cell: (item) => shortTime(item.heldAt) },
  { title: 'Released', cell: (item) => shortTime(item.releasedAt) },
  { title: 'Checkout', cell: (item) => item.checkoutUrl },
  { title: 'Returns to', cell: (item) => item.returnUrl },
  { title: 'Language', cell: (item) => item.language },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Status since', cell: (item) => shortTime(item.statusChangedAt) },
];

export const CREATED_SESSION_FIELDS: readonly Column<ValueOf<typeof CREATED_SESSION>>[] = [
  ...CHARGE_SESSION_FIELDS,
  { title: 'Claim token', cell: (item) => item.claimToken },
];

function statusText({ status, heldAt }: ChargeSessionView): string {
  return heldAt === undefined ? status : `${status} (held)`;
}
