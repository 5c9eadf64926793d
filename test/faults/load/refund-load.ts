// Refunds during a run: requested from the hub, made or reversed at the provider, with lost, late and wrong answers.
import { ConnectError } from '@connectrpc/connect';
import { type FaultKind, POSSIBLE } from '../../../cli/simulator/faults.ts';
import { SimulatorError } from '../../../cli/simulator/payment.ts';
import { type ChargeSession, ChargeStatus } from '../../../gen/hub/payment/v1/payment_pb.ts';
import type { GatewayName } from '../../support/hub/payment.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import type { Cluster } from '../scenes/cluster.ts';
import { anyHub, isRefusal } from './payment-fixture.ts';

/**
 * `parts`: the hub refunds some of the payment. `all`: the hub refunds all of it. `elsewhere`: somebody refunds it at
 * the provider. `reversed`: the provider reverses it, after the hub refunded a part or nothing.
 */
export const STORIES = ['parts', 'all', 'elsewhere', 'reversed'] as const;
export type Story = (typeof STORIES)[number];

const SETTLE_MS = 120_000;
const MAX_SLOW_MS = 1_500;

/** Plays a story for a paid session. Resolves when the provider and the hub have had all requests. */
export async function playRefunds(
  cluster: Cluster,
  session: ChargeSession,
  story: Story,
  random: () => number,
): Promise<void> {
  const { simulator } = cluster;
  const { providerPaymentId: ref } = session;
  const minor = Number(session.amount?.minorUnits ?? 0n);
  await until(() => isSuccess(cluster, session), `the hub knows that ${ref} is paid`, SETTLE_MS);
  const part = 1 + Math.floor(random() * (minor - 1));
  switch (story) {
    case 'parts':
      await refund(cluster, session, part, random);
      return refund(cluster, session, Math.ceil((minor - part) / 2), random);
    case 'all':
      if (random() < 0.5) await refund(cluster, session, part, random);
      return refund(cluster, session, undefined, random);
    case 'elsewhere':
      // gateway_one does not report a refund of a part.
      if (session.gateway === 'gateway_one') return void simulator.refund(ref);
      simulator.refund(ref, (part / 100).toFixed(2));
      return refund(cluster, session, Math.ceil((minor - part) / 2), random);
    case 'reversed': {
      if (random() < 0.5) await refund(cluster, session, part, random);
      const reverse = () => reverseIfDone(cluster, ref);
      return until(reverse, `${ref} has no refund in progress`, SETTLE_MS);
    }
  }
}

async function isSuccess(cluster: Cluster, { sessionId }: ChargeSession): Promise<boolean> {
  const answer = await anyHub(cluster, 0)
    ?.sessions.getChargeSession({ sessionId })
    .catch(() => undefined);
  return answer?.session?.status === ChargeStatus.SUCCESS;
}

function reverseIfDone({ simulator }: Cluster, ref: string): boolean {
  try {
    simulator.reverse(ref);
  } catch (error) {
    if (!(error instanceof SimulatorError)) throw error;
    return !error.message.includes('in progress');
  }
  return true;
}

/** Requests a refund like an operator: repeats the same request until a hub answers it. Half of them meet a fault. */
export async function refund(
  cluster: Cluster,
  session: ChargeSession,
  minor: number | undefined,
  random: () => number,
): Promise<void> {
  const { sessionId, amount, providerPaymentId: ref } = session;
  if (random() < 0.5) addRefundFault(cluster, session, random);
  const request = {
    sessionId,
    ...(minor !== undefined && {
      amount: { minorUnits: BigInt(minor), currency: amount?.currency ?? '' },
    }),
    reason: 'the customer returned it',
    idempotencyKey: `refund ${random()}`,
  };
  let turn = 0;
  const isAnswered = async (): Promise<boolean> => {
    const hub = anyHub(cluster, turn++);
    if (hub === undefined) return false;
    return hub.refunds.createRefund(request).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof ConnectError)) throw error;
        return isRefusal(error); // for example, less is left
      },
    );
  };
  await until(isAnswered, `a hub answers the refund of ${ref}`, SETTLE_MS);
}

/** Leaves out `huge`, which takes long, and `expired_token`, which other calls meet too. */
export function addRefundFault({ simulator }: Cluster, session: ChargeSession, random: () => number): void {
  const operation = `${session.gateway as GatewayName}.refund` as const;
  const kinds = POSSIBLE[operation].filter((kind) => kind !== 'huge' && kind !== 'expired_token');
  const kind: FaultKind | undefined = kinds[Math.floor(random() * kinds.length)];
  if (kind === undefined) return;
  const delayMs = Math.floor(random() * MAX_SLOW_MS);
  simulator.faults.add({ kind, operation, ref: session.providerPaymentId, delayMs });
}

/** Ends the faults and the refunds in progress. */
export function endRefunds({ simulator }: Cluster): void {
  simulator.faults.clear();
  simulator.finishRefunds();
}

/**
 * Makes the hub look for refunds now instead of in minutes or days: for pending ones, and those that somebody made at
 * the provider. Sessions that it has begun to look at stay as they are.
 */
export async function hurryRefunds({ databaseUrl }: Pick<Cluster, 'databaseUrl'>): Promise<void> {
  await query(
    databaseUrl,
    `update refund set missing_since = missing_since - interval '2 minutes',
       next_check_at = case when next_check_at > now() + interval '1 minute' then now() else next_check_at end
     where state = 'pending'`,
  );
  await query(
    databaseUrl,
    `update charge_session set refund_check_at = now()
     where status = 'success' and refund_check_at > now() + interval '5 minutes'`,
  );
}
