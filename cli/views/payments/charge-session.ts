// JSON schema and columns of charge sessions.
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
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
  word,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { pairsText, rfc3339, shortTime } from '../cells.ts';
import { MONEY, moneyText, moneyView } from './money.ts';

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
    riskLevel: optional(
      integer("the provider's risk rating of the payment, 0 is safe; missing without a rating"),
    ),
    riskTitle: optional(text("the provider's title of the rating")),
    heldAt: optional(time('since when the payment has been held for review; only while it is')),
    releasedAt: optional(time('when an operator released it despite the risk')),
    customer: map(text(), "the payer's details, if given: `name`, `email`, `phone` …"),
    metadata: map(text()),
    createdAt: time(),
    statusChangedAt: time(),
  },
  { message: 'hub.payment.v1.ChargeSession' },
);
export type ChargeSessionView = ValueOf<typeof CHARGE_SESSION>;

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
    ...(session.riskLevel !== undefined && { riskLevel: session.riskLevel }),
    ...(session.riskTitle !== '' && { riskTitle: session.riskTitle }),
    ...(session.heldAt && { heldAt: rfc3339(session.heldAt) }),
    ...(session.releasedAt && { releasedAt: rfc3339(session.releasedAt) }),
    customer: Object.fromEntries(Object.entries(customer).filter(([, value]) => value !== '')),
    metadata: session.metadata,
    createdAt: rfc3339(requireField(session.createdAt, 'creation time')),
    statusChangedAt: rfc3339(requireField(session.statusChangedAt, 'status time')),
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
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Status since', cell: (item) => shortTime(item.statusChangedAt) },
];

function statusText({ status, heldAt }: ChargeSessionView): string {
  return heldAt === undefined ? status : `${status} (held)`;
}
