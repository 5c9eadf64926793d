// Payments for tests: a hub, the provider simulator behind a tap, a slot at each gateway, and callbacks.
import { type Client, createClient } from '@connectrpc/connect';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../cli/simulator/simulator.ts';
import { formatId, newUuid, parseId } from '../../../core/ids.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { Callback, ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CallbackState, ChargeStatus, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { query } from '../postgres/databases.ts';
import { until } from '../until.ts';
import { startHub, type TestHub, type TestHubOptions } from './hub.ts';
import { type ProviderTap, startProviderTap } from './provider-tap.ts';

export type GatewayName = 'gateway_one' | 'gateway_two';

export const GATEWAYS: readonly GatewayName[] = ['gateway_one', 'gateway_two'];

/** The slot of each gateway. */
export const SLOTS: Readonly<Record<GatewayName, string>> = { gateway_one: 'store', gateway_two: 'wallet' };

export type Payments = {
  readonly hub: TestHub;
  readonly simulator: Simulator;
  /** The proxy between the hub and the simulator. */
  readonly tap: ProviderTap;
  readonly sessions: Client<typeof PaymentService>;
  readonly admin: Client<typeof PaymentAdminService>;
  stop(): Promise<void>;
};

export type PaymentsOptions = TestHubOptions & { readonly simulator?: SimulatorOptions };

/**
 * The defaults are a sweep interval of hours and a provider timeout of two seconds. Settings can change both.
 */
export async function startPayments({
  simulator: simulated,
  ...options
}: PaymentsOptions = {}): Promise<Payments> {
  const simulator = await startSimulator({ port: 0, ...simulated });
  const tap = await startProviderTap(simulator.url);
  const settings = {
    providerTimeoutMs: 2_000,
    retryDelaySeconds: 1,
    sweepAfterMs: [HOURS_MS],
    ...options.settings,
  };
  const hub = await startHub({ ...options, settings });
  const admin = createClient(PaymentAdminService, hub.transport);
  for (const gateway of GATEWAYS) {
    await admin.addSlot({
      name: SLOTS[gateway],
      gateway,
      environment: SlotEnvironment.SANDBOX,
      baseUrl: `${tap.url}/${gateway}`,
      credentials: simulator.credentials[gateway],
    });
  }
  return {
    hub,
    simulator,
    tap,
    sessions: createClient(PaymentService, hub.transport),
    admin,
    async stop() {
      await tap.close();
      await simulator.close();
      await hub.stop();
    },
  };
}

const HOURS_MS = 4 * 3_600_000;

/** A new session of 100.00 BDT at a gateway. */
export async function createSession({ sessions }: Payments, gateway: GatewayName): Promise<ChargeSession> {
  const { session } = await sessions.createChargeSession({
    slot: SLOTS[gateway],
    amount: { minorUnits: 10_000n, currency: 'BDT' },
    orderReference: 'ORD-1',
  });
  if (session === undefined) throw new Error('no session was created');
  return session;
}

/**
 * The customer pays (gateway_two: authorizes) without a callback from the provider. Returns the proof of
 * payment.
 */
export function payQuietly(
  { simulator }: Pick<Payments, 'simulator'>,
  { providerPaymentId, gateway }: ChargeSession,
): string {
  if (gateway === 'gateway_two') {
    simulator.authorizeAndLeave(providerPaymentId);
    return '';
  }
  simulator.faults.add({ kind: 'lost', operation: 'callback', ref: providerPaymentId });
  simulator.pay(providerPaymentId);
  return simulator.payments().find(({ ref }) => ref === providerPaymentId)?.proof ?? '';
}

export const STATUSES = {
  gateway_one: { paid: 'VALID', failed: 'FAILED', cancelled: 'CANCELLED' },
  gateway_two: { paid: 'success', failed: 'failure', cancelled: 'cancel' },
} as const;

export type Claim = keyof (typeof STATUSES)['gateway_one'];

/**
 * The fields of a provider's callback, including `session_id`. A payment at gateway_one includes its proof.
 */
export function callbackFields(session: ChargeSession, claim: Claim, proof = ''): Record<string, string> {
  const { sessionId, gateway, merchantTransactionId, providerPaymentId } = session;
  return gateway === 'gateway_two'
    ? { session_id: sessionId, paymentID: providerPaymentId, status: STATUSES.gateway_two[claim] }
    : {
        session_id: sessionId,
        status: STATUSES.gateway_one[claim],
        tran_id: merchantTransactionId,
        amount: '100.00',
        ...(proof && { val_id: proof }),
      };
}

export type CallbackAnswer = { readonly status: number; readonly body: string };

/** The time that a provider waits for a response. */
const TIMEOUT_MS = 30_000;

/** Sends a callback like the gateway: by POST with `session_id` in the query, or by GET. */
export async function callBack(
  gatewayUrl: string,
  gateway: string,
  { session_id, ...fields }: Readonly<Record<string, string>>,
): Promise<CallbackAnswer> {
  const url = new URL(`/v1/webhooks/${gateway}`, gatewayUrl);
  if (session_id !== undefined) url.searchParams.set('session_id', session_id);
  const body = new URLSearchParams(fields);
  if (gateway === 'gateway_two') for (const [name, value] of body) url.searchParams.set(name, value);
  const response = await fetch(url, {
    ...(gateway !== 'gateway_two' && { method: 'POST', body }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return { status: response.status, body: await response.text() };
}

/** The customer pays, and the provider sends the callback. */
export async function pay(payments: Payments, session: ChargeSession): Promise<CallbackAnswer> {
  const proof = payQuietly(payments, session);
  return callBack(payments.hub.gatewayUrl, session.gateway, callbackFields(session, 'paid', proof));
}

/** `pending`, `success`, `failed` or `cancelled`. */
export async function statusOf({ sessions }: Payments, { sessionId }: ChargeSession): Promise<string> {
  const { session } = await sessions.getChargeSession({ sessionId });
  return nameOf(ChargeStatus, session?.status);
}

export async function untilStatus(
  payments: Payments,
  session: ChargeSession,
  status: string,
  limitMs?: number,
): Promise<void> {
  const reached = async () => (await statusOf(payments, session)) === status;
  await until(reached, `session ${session.sessionId} is ${status}`, limitMs);
}

/** Adds a duplicate payment of a session as if the provider had reported it, and returns its id. */
export async function addDuplicate(
  { hub }: Pick<Payments, 'hub'>,
  { sessionId, gateway }: ChargeSession,
): Promise<string> {
  const id = newUuid();
  await query(
    hub.databaseUrl,
    `insert into duplicate_payment (id, session_id, slot_id, gateway, gateway_transaction_id, provider_payment_id,
                                    amount_minor, currency, found_at, resolution)
     select $1::uuid, c.id, c.slot_id, $3, $1::uuid::text, '', 10000, 'BDT', now(), ''
     from charge_session c where c.id = $2`,
    [id, parseId('chs', sessionId), gateway],
  );
  return formatId('dup', id);
}

/** Adds a refund of a session that the merchant made at the provider and that needs review, and returns its id. */
export async function addRefund(
  { hub }: Pick<Payments, 'hub'>,
  { sessionId }: Pick<ChargeSession, 'sessionId'>,
): Promise<string> {
  const id = newUuid();
  await query(
    hub.databaseUrl,
    `insert into refund (id, session_id, slot_id, gateway, gateway_transaction_id, kind, origin, amount_minor, currency,
       reason, state, state_reason, gateway_refund_id, review_reason, created_at, finished_at)
     select $1::uuid, c.id, c.slot_id, s.gateway, '', 'refund', 'provider', 1, c.currency, '', 'succeeded', 'refunded',
       $1::uuid::text, 'it pays back one of two licenses', now(), now()
     from charge_session c join slot s on s.id = c.slot_id where c.id = $2`,
    [id, parseId('chs', sessionId)],
  );
  return formatId('rfd', id);
}

/** The complete history of a session. */
export function inspect({ sessions }: Payments, { sessionId }: ChargeSession) {
  return sessions.inspectChargeSession({ sessionId });
}

/** The results of the callbacks of one session or of all, the latest first. */
export async function journal({ admin }: Payments, session?: ChargeSession): Promise<JournalEntry[]> {
  const filter = session && { sessionId: session.sessionId };
  const { callbacks } = await admin.listCallbacks({ ...filter, pageSize: 1_000 });
  return callbacks.map((callback) => ({ ...callback, state: nameOf(CallbackState, callback.state) }));
}

export type JournalEntry = Omit<Callback, 'state'> & { readonly state: string };

function nameOf(names: Readonly<Record<string, number>>, value: number | undefined): string {
  const found = Object.entries(names).find(([, number]) => number === value);
  return found?.[0].toLowerCase() ?? `unknown: ${value}`;
}
