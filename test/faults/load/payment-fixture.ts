// The system under test that the model is compared with: a cluster, its sessions and the operations in
// progress.
import { randomUUID } from 'node:crypto';
import { ConnectError } from '@connectrpc/connect';
import type { SimulatedPayment } from '../../../cli/simulator/controls.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { callBack, type GatewayName, SLOTS } from '../../support/hub/payment.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { allowedStatuses, type Model, type ModelSession } from '../model/payment-model.ts';
import { discrepancies, readSessions } from '../model/reconcile.ts';
import type { Cluster, HubClients } from '../scenes/cluster.ts';
import { bringMissingCallbacks, readDuplicates, standingPayments } from './second-payments.ts';

/** `minor`: hundredths of a taka. */
export type Order = { readonly gateway: GatewayName; readonly minor: number };

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
  const request = {
    slot: SLOTS[gateway],
    amount: { minorUnits: BigInt(minor), currency: 'BDT' },
    orderReference: `ORD-${turn % 3}`, // order references need not be unique
    idempotencyKey: randomUUID(),
  };
  let created: ChargeSession | undefined;
  const attempt = async (): Promise<boolean> => {
    const hub = anyHub(cluster, turn);
    const answer = await hub?.sessions.createChargeSession(request).catch((error) => {
      if (!(error instanceof ConnectError)) throw error; // a killed hub or an unavailable provider
    });
    created = answer?.session;
    return created !== undefined;
  };
  await until(attempt, `${gateway} has a checkout`, 60_000);
  if (created === undefined) throw new Error('unreachable: it was waited for');
  return created;
}

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
