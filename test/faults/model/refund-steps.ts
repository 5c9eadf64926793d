// Random steps of operators and of somebody at the provider who refund the same payments.
import { ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import { SimulatorError } from '../../../cli/simulator/payment.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { callBack, callbackFields } from '../../support/hub/payment.ts';
import { isRefusal, paymentOf } from '../load/payment-fixture.ts';
import { addRefundFault } from '../load/refund-load.ts';
import type { Cluster } from '../scenes/cluster.ts';
import { pick, someHub } from './event-fixture.ts';
import { runSteps } from './run-steps.ts';

export type RefundFixture = {
  readonly cluster: Cluster;
  /** Paid ones. */
  readonly sessions: readonly ChargeSession[];
  /** Repeated requests that were answered with different refunds. */
  readonly torn: string[];
};

const turn = fc.nat(1_000);
const times = fc.integer({ min: 1, max: 3 });
/** A part of the payment in thousandths. */
const part = fc.integer({ min: 1, max: 1_000 });

const kinds = {
  refund: fc.record({
    kind: fc.constant('refund' as const),
    turn,
    /** Null for all that is left. */
    part: fc.option(part, { freq: 4 }),
    times,
    key: fc.uuid(),
    draws: fc.option(fc.array(fc.double({ min: 0, max: 0.999 }), { minLength: 2, maxLength: 2 })),
  }),
  panel: fc.record({ kind: fc.constant('panel' as const), turn, part }),
  reverse: fc.record({ kind: fc.constant('reverse' as const), turn }),
  recheck: fc.record({ kind: fc.constant('recheck' as const), turn, times }),
  callback: fc.record({ kind: fc.constant('callback' as const), turn, times }),
  finish: fc.record({ kind: fc.constant('finish' as const) }),
  outage: fc.record({ kind: fc.constant('outage' as const), ms: fc.integer({ min: 100, max: 800 }) }),
};
type Step = {
  [K in keyof typeof kinds]: (typeof kinds)[K] extends fc.Arbitrary<infer T> ? T : never;
}[keyof typeof kinds];

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: kinds.refund },
  { weight: 4, arbitrary: kinds.panel },
  { weight: 2, arbitrary: kinds.reverse },
  { weight: 5, arbitrary: kinds.recheck },
  { weight: 2, arbitrary: kinds.callback },
  { weight: 1, arbitrary: kinds.finish },
  { weight: 1, arbitrary: kinds.outage },
);

export const refundSteps = (count: number) =>
  fc.noBias(
    fc.array(fc.record({ step, thenMs: fc.nat(60) }), { minLength: count, maxLength: count, size: 'max' }),
  );

export function runRefundSteps(
  fixture: RefundFixture,
  plan: readonly { readonly step: Step; readonly thenMs: number }[],
): Promise<void> {
  // Refused by a hub, or by the provider.
  const isExpected = (error: unknown) => error instanceof ConnectError || error instanceof SimulatorError;
  return runSteps(plan, (step) => runStep(fixture, step), isExpected);
}

async function runStep(fixture: RefundFixture, next: Step): Promise<void> {
  const { cluster, sessions } = fixture;
  const { simulator } = cluster;
  switch (next.kind) {
    case 'refund':
      return requestOften(fixture, next);
    case 'panel':
      return refundElsewhere(cluster, pick(sessions, next.turn), next.part);
    case 'reverse':
      return simulator.reverse(pick(sessions, next.turn).providerPaymentId);
    case 'recheck': {
      const { sessionId } = pick(sessions, next.turn);
      const ask = async (_: unknown, index: number) =>
        (await someHub(cluster, index)).sessions.recheckChargeSession({ sessionId });
      return void (await Promise.allSettled(Array.from({ length: next.times }, ask)));
    }
    case 'callback': {
      const session = pick(sessions, next.turn);
      const fields = callbackFields(session, 'paid', paymentOf(cluster, session)?.proof);
      const send = () => callBack(cluster.door.url, session.gateway, fields);
      return void (await Promise.all(Array.from({ length: next.times }, send)));
    }
    case 'finish':
      return void simulator.finishRefunds();
    case 'outage':
      return simulator.down(next.ms, 'dropped');
  }
}

/** The same request at several hubs at once: all answers are about one refund. */
async function requestOften(
  { cluster, sessions, torn }: RefundFixture,
  { turn: at, part: thousandths, times: count, key, draws }: Extract<Step, { kind: 'refund' }>,
): Promise<void> {
  const session = pick(sessions, at);
  const { sessionId, amount } = session;
  if (draws !== null) addRefundFault(cluster, session, drawing(draws));
  const request = {
    sessionId,
    ...(thousandths !== null &&
      amount && { amount: { ...amount, minorUnits: partOf(session, thousandths) } }),
    reason: 'the customer returned it',
    idempotencyKey: key,
  };
  const ask = async (_: unknown, index: number) =>
    (await someHub(cluster, at + index)).refunds.createRefund(request).catch((error: unknown) => {
      if (error instanceof ConnectError && isRefusal(error)) return undefined;
      throw error;
    });
  const answers = await Promise.all(Array.from({ length: count }, ask));
  const ids = new Set(answers.flatMap((answer) => answer?.refund?.refundId ?? []));
  if (ids.size > 1) torn.push(`${key}: ${[...ids].join(', ')}`);
}

/**
 * At gateway_one all that is left, because it does not report parts. Not while a refund is in progress: if that is
 * cancelled, the payment has an unknown refund of a part.
 */
async function refundElsewhere(
  { simulator }: Cluster,
  session: ChargeSession,
  thousandths: number,
): Promise<void> {
  const { gateway, providerPaymentId: ref } = session;
  if (gateway === 'gateway_two') {
    simulator.refund(ref, (Number(partOf(session, thousandths)) / 100).toFixed(2));
    return;
  }
  const isOpen = simulator.refunds().some((refund) => refund.ref === ref && refund.state === 'processing');
  if (!isOpen) simulator.refund(ref);
}

function partOf({ amount }: ChargeSession, thousandths: number): bigint {
  const minor = ((amount?.minorUnits ?? 0n) * BigInt(thousandths)) / 1_000n;
  return minor > 0n ? minor : 1n;
}

function drawing(draws: readonly number[]): () => number {
  let next = 0;
  return () => draws[next++ % draws.length] ?? 0;
}
