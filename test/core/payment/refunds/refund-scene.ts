// Refunds for tests: paid sessions, their refunds, and what the books say of them.
import { type Client, createClient } from '@connectrpc/connect';
import type { Refund } from '../../../../gen/hub/payment/v1/refund_pb.ts';
import { RefundService } from '../../../../gen/hub/payment/v1/refund_service_pb.ts';
import { REFUND_STATES, wordFor } from '../../../../lib/presentation/enum-names.ts';
import {
  createSession,
  type GatewayName,
  type Payments,
  type PaymentsOptions,
  pay,
  startPayments,
} from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

export type RefundScene = Payments & {
  readonly refunds: Client<typeof RefundService>;
  /** The clock of the hub. */
  readonly clock: { aheadMs: number };
};

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

export async function startRefunds(options: PaymentsOptions = {}): Promise<RefundScene> {
  const clock = { aheadMs: 0 };
  const now = () => new Date(Date.now() + clock.aheadMs);
  const payments = await startPayments({ clock: now, ...options });
  return { ...payments, refunds: createClient(RefundService, payments.hub.transport), clock };
}

export const bdt = (minorUnits: bigint) => ({ minorUnits, currency: 'BDT' });

/** A paid session of 100.00 BDT. */
export async function paidSession(scene: RefundScene, gateway: GatewayName) {
  const session = await createSession(scene, gateway);
  await pay(scene, session);
  const ref = session.providerPaymentId;
  return { session, sessionId: session.sessionId, ref };
}

export async function refundsOf({ refunds }: RefundScene, sessionId: string): Promise<Refund[]> {
  return (await refunds.listRefunds({ sessionId })).refunds.toReversed();
}

/** The refunds of a session as `state amount origin`. */
export async function summary(scene: RefundScene, sessionId: string): Promise<string[]> {
  const found = await refundsOf(scene, sessionId);
  return found.map(({ state, amount, origin }) =>
    [wordFor(REFUND_STATES, state), amount?.minorUnits, origin === 1 ? 'hub' : 'provider'].join(' '),
  );
}

export async function untilSummary(
  scene: RefundScene,
  sessionId: string,
  wanted: readonly string[],
): Promise<void> {
  let last = '';
  const reached = async () => {
    last = (await summary(scene, sessionId)).join(', ');
    return last === wanted.join(', ');
  };
  await until(reached, `the refunds are ${wanted.join(', ')}`, 20_000).catch((error) => {
    throw new Error(`${error.message}; they are ${last}`);
  });
}

/** The refunds that the provider has made or makes of a payment. */
export function madeBy({ simulator }: RefundScene, ref: string) {
  return simulator.refunds().filter((refund) => refund.ref === ref && refund.state !== 'cancelled');
}

/** The amounts of the usage log of a session, oldest first, and what the session says was refunded. */
export async function booksOf(scene: RefundScene, sessionId: string) {
  const { usageLogs, session } = await scene.sessions.inspectChargeSession({ sessionId });
  return {
    amounts: usageLogs.map(({ amount }) => amount?.minorUnits),
    refunded: session?.refunded?.minorUnits ?? 0n,
  };
}

/** The net of all entries of the usage log. */
export async function netOf({ hub }: RefundScene): Promise<bigint> {
  const [row] = await query<{ net: string }>(
    hub.databaseUrl,
    'select coalesce(sum(amount_minor), 0)::text as net from usage_log',
  );
  return BigInt(row?.net ?? 0);
}
