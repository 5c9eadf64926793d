// Charge sessions as hubctl prints them.
import type { ChargeSession } from '../../gen/hub/payment/v1/payment_pb.ts';
import { part } from '../reply.ts';
import type { Column } from '../table.ts';
import { pairsText, rfc3339, shortTime } from './cells.ts';
import { type MoneyView, moneyText, moneyView } from './money.ts';
import { wordFor } from './words.ts';

/** Words of the statuses by their number in the contract. */
export const CHARGE_STATUSES = { pending: 1, success: 2, failed: 3, cancelled: 4 } as const;

export type ChargeSessionView = MoneyView & {
  readonly sessionId: string;
  readonly status: string;
  readonly statusReason: string;
  readonly slot: string;
  readonly gateway: string;
  readonly orderReference: string;
  readonly checkoutUrl: string;
  readonly merchantTransactionId: string;
  readonly providerPaymentId: string;
  /** Only of a session that was paid. */
  readonly gatewayTransactionId?: string;
  readonly customer: Record<string, string>;
  readonly metadata: Record<string, string>;
  readonly createdAt: string;
  readonly statusChangedAt: string;
};

export function chargeSessionView(session: ChargeSession): ChargeSessionView {
  const { $typeName: _, $unknown: _u, ...customer } = session.customer ?? {};
  return {
    sessionId: session.sessionId,
    status: wordFor(CHARGE_STATUSES, session.status),
    statusReason: session.statusReason,
    slot: session.slot,
    gateway: session.gateway,
    ...moneyView(session.amount),
    orderReference: session.orderReference,
    checkoutUrl: session.checkoutUrl,
    merchantTransactionId: session.merchantTransactionId,
    providerPaymentId: session.providerPaymentId,
    ...(session.gatewayTransactionId !== '' && { gatewayTransactionId: session.gatewayTransactionId }),
    customer: Object.fromEntries(Object.entries(customer).filter(([, value]) => value !== '')),
    metadata: session.metadata,
    createdAt: rfc3339(part(session.createdAt, 'creation time')),
    statusChangedAt: rfc3339(part(session.statusChangedAt, 'status time')),
  };
}

export const CHARGE_SESSION_COLUMNS: readonly Column<ChargeSessionView>[] = [
  { title: 'SESSION', cell: (item) => item.sessionId },
  { title: 'STATUS', cell: (item) => item.status },
  { title: 'AMOUNT', cell: moneyText, right: true },
  { title: 'SLOT', cell: (item) => item.slot },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
  { title: 'ORDER', cell: (item) => item.orderReference },
];

export const CHARGE_SESSION_FIELDS: readonly Column<ChargeSessionView>[] = [
  { title: 'Session', cell: (item) => item.sessionId },
  { title: 'Status', cell: (item) => item.status },
  { title: 'Why', cell: (item) => item.statusReason },
  { title: 'Amount', cell: moneyText },
  { title: 'Order', cell: (item) => item.orderReference },
  { title: 'Slot', cell: (item) => `${item.slot} (${item.gateway})` },
  { title: 'Customer', cell: (item) => pairsText(item.customer) },
  { title: 'Metadata', cell: (item) => pairsText(item.metadata) },
  { title: 'Merchant transaction', cell: (item) => item.merchantTransactionId },
  { title: 'Provider payment', cell: (item) => item.providerPaymentId },
  { title: 'Provider transaction', cell: (item) => item.gatewayTransactionId },
  { title: 'Checkout', cell: (item) => item.checkoutUrl },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Status since', cell: (item) => shortTime(item.statusChangedAt) },
];
