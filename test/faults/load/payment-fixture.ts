// The system under test that the model is compared with: a cluster, its sessions and the operations in
// progress.
import { randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { SimulatedPayment } from '../../../cli/simulator/controls.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { CreateChargeSessionRequestSchema } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { callBack, type GatewayName, SLOTS } from '../../support/hub/payment.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { allowedStatuses, type Model, type ModelSession } from '../model/payment-model.ts';
import { discrepancies, readSessions } from '../model/reconcile.ts';
import type { Cluster, HubClients } from '../scenes/cluster.ts';
import { bringMissingCallbacks, readDuplicates, standingPayments } from './second-payments.ts';

/** `minor`: hundredths of a taka. */
export type Order = { readonly gateway: GatewayName; readonly minor: number };

/** A purchase of an offer, whose price is the amount. */
export type OfferOrder = {
  readonly gateway: GatewayName;
  readonly offer: string;
  readonly quantity: number;
  /** For renewals and seats. */
  readonly licenseId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly customer?: { readonly name: string; readonly email: string } | undefined;
};

/** A session with the token that shows its result. */
export type Bought = { readonly session: ChargeSession; readonly claimToken: string };

export type PaymentFixture = {
  readonly cluster: Cluster;
  /** In the order of the model's sessions. */
  readonly sessions: readonly ChargeSession[];
  /** Starts an operation that may overlap with others. It may be refused by a hub or cut off by a kill. */
  begin(work: Promise<unknown>): void;
  /** Resolves when all started operations have ended. */
  idle(): Promise<void>;
};

export async function createFixture(cluster: Cluster, orders: readonly Order[]): Promise<PaymentFixture> {
  const underWay = new Set<Promise<void>>();
  const surprises: unknown[] = [];
  const sessions = await Promise.all(orders.map((order, index) => createSession(cluster, order, index)));
  return {
    cluster,
    sessions,
    begin(work) {
      const tracked: Promise<void> = work.then(
        () => void underWay.delete(tracked),
        (error) => {
          underWay.delete(tracked);
          if (!(error instanceof ConnectError)) surprises.push(error);
        },
      );
      underWay.add(tracked);
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
      if (surprises.length > 0) throw new AggregateError(surprises, `${surprises}`);
    },
  };
}

/** Creates a session like a service: repeats the same request until a hub answers it. */
export async function createSession(
  cluster: Cluster,
  { gateway, minor }: Order,
  turn: number,
): Promise<ChargeSession> {
  const amount = { minorUnits: BigInt(minor), currency: 'BDT' };
  return (await create(cluster, { slot: SLOTS[gateway], amount }, turn)).session;
}

/** The same for a session that sells an offer. */
export function buy(cluster: Cluster, { gateway, ...purchase }: OfferOrder, turn: number): Promise<Bought> {
  return create(cluster, { slot: SLOTS[gateway], currency: 'BDT', ...purchase }, turn);
}

async function create(
  cluster: Cluster,
  request: MessageInitShape<typeof CreateChargeSessionRequestSchema>,
  turn: number,
): Promise<Bought> {
  const repeated = {
    ...request,
    orderReference: `ORD-${turn % 3}`, // order references need not be unique
    idempotencyKey: randomUUID(),
  };
  let created: Bought | undefined;
  const attempt = async (): Promise<boolean> => {
    const hub = anyHub(cluster, turn);
    const answer = await hub?.sessions.createChargeSession(repeated).catch((error) => {
      if (!(error instanceof ConnectError) || isRefusal(error)) throw error;
    });
    if (answer?.session !== undefined) created = { session: answer.session, claimToken: answer.claimToken };
    return created !== undefined;
  };
  await until(attempt, `${request.slot} has a checkout`, 60_000);
  if (created === undefined) throw new Error('unreachable: it was waited for');
  return created;
}

/** Whether the same request would be refused again, unlike after a kill or a failure of the provider. */
export function isRefusal({ code }: ConnectError): boolean {
  return REFUSALS.has(code);
}

const REFUSALS = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.FailedPrecondition,
  Code.PermissionDenied,
]);

/** A running hub: the one for this turn, or else the next. */
export function anyHub(cluster: Cluster, turn: number): HubClients | undefined {
  return cluster.hub(turn % 2) ?? cluster.hub((turn + 1) % 2);
}

/** Sends a callback to the public address. */
export function callBackTo(
  { cluster }: PaymentFixture,
  gateway: GatewayName,
  fields: Record<string, string>,
) {
  return callBack(cluster.door.url, gateway, fields);
}

export function paymentOf({ simulator }: Cluster, session: ChargeSession): SimulatedPayment | undefined {
  return simulator.payments().find(({ ref }) => ref === session.providerPaymentId);
}

/**
 * Ends all faults and waits until hub, provider and model agree.
 * @throws Error that names the differences
 */
export async function comeToRest(fixture: PaymentFixture, model: Model, limitMs: number): Promise<void> {
  const { cluster } = fixture;
  cluster.simulator.faults.clear();
  await fixture.idle();
  await cluster.simulator.idle();
  const paidAgain = sessionsWith(fixture, model, ({ secondPayments }) => secondPayments > 0);
  // A recheck finds those at gateway_one without a callback.
  await bringMissingCallbacks(
    cluster,
    paidAgain.filter(({ gateway }) => gateway === 'gateway_two'),
  );
  let trouble: string[] = [];
  const atRest = async (): Promise<boolean> => {
    await recheckUntold(fixture, model);
    trouble = [...(await unreconciled(cluster)), ...(await modelTrouble(fixture, model)), ...cluster.deaths];
    return trouble.length === 0;
  };
  await until(atRest, 'all is settled', limitMs).catch((error) => {
    throw new Error([error.message, ...trouble].join('\n'));
  });
  // Otherwise the next run would also verify these unpaid sessions.
  await query(cluster.databaseUrl, 'update charge_session set next_check_at = null');
}

export function unreconciled({ databaseUrl, simulator, door }: Cluster): Promise<string[]> {
  return discrepancies({
    databaseUrl,
    payments: simulator.payments(),
    refunds: simulator.refunds(),
    standing: standingPayments(simulator),
    passages: door.passages,
  });
}

/**
 * The hub gets no notice of reversals, and the callback of a second payment may be lost. A recheck finds
 * both.
 */
async function recheckUntold(fixture: PaymentFixture, model: Model): Promise<void> {
  const { cluster } = fixture;
  const untold = sessionsWith(
    fixture,
    model,
    ({ provider, secondPayments }) => provider === 'reversed' || secondPayments > 0,
  );
  const recheck = async ({ sessionId }: ChargeSession, turn: number): Promise<void> => {
    await anyHub(cluster, turn)?.sessions.recheckChargeSession({ sessionId });
  };
  await Promise.allSettled(untold.map(recheck)); // the next attempt repeats it
}

function sessionsWith(
  { sessions }: PaymentFixture,
  model: Model,
  has: (modeled: ModelSession) => boolean,
): ChargeSession[] {
  return sessions.filter((_, index) => {
    const modeled = model.sessions[index];
    return modeled !== undefined && has(modeled);
  });
}

async function modelTrouble({ cluster, sessions }: PaymentFixture, model: Model): Promise<string[]> {
  const duplicates = Map.groupBy(
    await readDuplicates(cluster.databaseUrl),
    ({ merchantTransactionId }) => merchantTransactionId,
  );
  const booked = new Map(
    (await readSessions(cluster.databaseUrl)).map((session) => [session.merchantTransactionId, session]),
  );
  return model.sessions.flatMap((session, index) => {
    const { merchantTransactionId = '' } = sessions[index] ?? {};
    const status = booked.get(merchantTransactionId)?.status ?? 'gone';
    const allowed = allowedStatuses(session);
    const found = duplicates.get(merchantTransactionId)?.length ?? 0;
    if (allowed.includes(status) && found === session.secondPayments) return [];
    return [
      `session ${index} (${merchantTransactionId}) is ${status}, not ${allowed.join(' or ')}: ${session.provider}, ` +
        `and has ${found} duplicate payments, not ${session.secondPayments}`,
    ];
  });
}
