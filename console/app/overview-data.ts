// Reads the state of the hub for the overview, and lists the problems that need an operator.

import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts';
import { OrderState } from '../../gen/hub/order/v1/order_pb.ts';
import { type Callback, CallbackState, ChargeStatus } from '../../gen/hub/payment/v1/payment_pb.ts';
import { DAY_MS } from '../../lib/presentation/calendar.ts';
import { checkHealth, type HealthProblem } from '../../lib/presentation/health.ts';
import { createReading } from '../../lib/presentation/metric-reading.ts';
import { spanText } from './components/times.tsx';
import { byCurrency, type CurrencyUsage } from './daily-usage.ts';
import { linkTo } from './route.ts';
import type { SignedIn } from './sign-in-state.ts';

export type Overview = {
  readonly serving: boolean;
  readonly version: string;
  readonly hubTime: Date;
  /** The hub's clock minus this computer's, in milliseconds. */
  readonly skewMs: number;
  /** Undefined without permission. */
  readonly backlog: Backlog | undefined;
  /** Orders that are paid and not fulfilled, at most MAX_COUNT; undefined without permission. */
  readonly blocked: number | undefined;
  /** Failing health checks; empty without permission. */
  readonly failedChecks: readonly HealthProblem[];
  /** Pending sessions of the last day; undefined without permission. */
  readonly pending: number | undefined;
  /** Payments of the last day. */
  readonly paid: readonly CurrencyUsage[];
};

/** At most MAX_COUNT of each, newest first. */
export type Backlog = {
  readonly waiting: readonly Callback[];
  readonly dead: readonly Callback[];
  readonly mismatch: readonly Callback[];
};

/** Counting more costs time and changes no decision. */
const MAX_COUNT = 100;
/** A callback that waits longer usually waits for a provider that does not answer. */
const LONG_MS = 10 * 60_000;
/** A larger difference makes it hard to compare times with logs. */
const SKEW_MS = 30_000;

export async function loadOverview(
  { hub, may, isLimited }: SignedIn,
  signal: AbortSignal,
): Promise<Overview> {
  const sees: SignedIn['may'] = (method) => !isLimited && may(method);
  const seesCallbacks = sees('paymentAdmin.listCallbacks');
  const list = async (state: CallbackState): Promise<Callback[]> => {
    if (!seesCallbacks) return [];
    return (await hub.paymentAdmin.listCallbacks({ state, pageSize: MAX_COUNT }, { signal })).callbacks;
  };
  const now = Date.now();
  const aDayAgo = timestampFromDate(new Date(now - DAY_MS));
  const pending = { status: ChargeStatus.PENDING, createdFrom: aDayAgo, pageSize: MAX_COUNT };
  const period = { settledFrom: aDayAgo, settledTo: timestampFromDate(new Date(now + DAY_MS)) };
  const blocked = { state: OrderState.BLOCKED, pageSize: MAX_COUNT };
  const [health, told, waiting, dead, mismatch, orders, sessions, usage, metrics] = await Promise.all([
    hub.health.check({}, { signal }),
    hub.access.getCaller({}, { signal }),
    list(CallbackState.RECEIVED),
    list(CallbackState.DEAD),
    list(CallbackState.MISMATCH),
    sees('orders.listOrders') ? hub.orders.listOrders(blocked, { signal }) : undefined,
    sees('payments.listChargeSessions') ? hub.payments.listChargeSessions(pending, { signal }) : undefined,
    sees('paymentAdmin.summarizeUsage') ? hub.paymentAdmin.summarizeUsage(period, { signal }) : undefined,
    sees('metrics.readMetrics') ? hub.metrics.readMetrics({}, { signal }) : undefined,
  ]);
  const hubTime = told.hubTime ? timestampDate(told.hubTime) : new Date();
  return {
    serving: health.status === ServingStatus.SERVING,
    version: told.hubVersion,
    hubTime,
    skewMs: hubTime.getTime() - Date.now(),
    failedChecks: checkHealth(createReading(metrics?.families ?? [], 0), hubTime).filter(
      (finding) => finding.state !== 'ok',
    ),
    backlog: seesCallbacks ? { waiting, dead, mismatch } : undefined,
    blocked: orders?.orders.length,
    pending: sessions?.sessions.length,
    paid: byCurrency([], usage?.days ?? []),
  };
}

export type OverviewProblem = { readonly text: string; readonly advice: string; readonly link?: string };

/** Problems with advice, the worst first. */
export function problemsOf(overview: Overview): OverviewProblem[] {
  const { serving, backlog, blocked = 0, failedChecks, skewMs, hubTime } = overview;
  const wait = backlog ? longestWait(backlog, hubTime) : 0;
  const problems: (OverviewProblem | false | undefined)[] = [
    !serving && {
      text: 'The hub does not serve: its database accepts no writes.',
      advice: 'Check that PostgreSQL runs and is the primary: hubctl doctor checks both.',
    },
    blocked > 0 && {
      text: `Paid orders that the hub could not fulfill: ${countUpToMax(blocked)}.`,
      advice: 'See the reasons, and retry them',
      link: linkTo(['orders'], { state: 'blocked', span: 'all' }),
    },
    backlog !== undefined &&
      backlog.dead.length > 0 && {
        text: `Callbacks given up after a day of attempts: ${countUpToMax(backlog.dead.length)}.`,
        advice: 'See the reasons, and replay them when the provider answers again',
        link: linkTo(['callbacks'], { state: 'dead' }),
      },
    backlog !== undefined &&
      wait > LONG_MS && {
        text: `Callbacks waiting: ${countUpToMax(backlog.waiting.length)}, one of them for ${spanText(wait)}.`,
        advice: 'Check whether the provider answers',
        link: linkTo(['callbacks'], { state: 'received' }),
      },
    ...failedChecks
      .filter(({ check }) => check !== 'orders' || blocked === 0)
      .map(({ check, detail }) => ({
        text: `${check}: ${detail}.`,
        advice: 'See the remedy',
        link: linkTo(['health']),
      })),
    Math.abs(skewMs) > SKEW_MS && {
      text: `The hub’s clock and this computer’s differ by ${spanText(Math.abs(skewMs))}.`,
      advice: 'Times here are those of the hub.',
    },
  ];
  return problems.filter((each) => each !== false && each !== undefined);
}

/** How long the oldest listed callback has waited, in milliseconds. */
export function longestWait({ waiting }: Backlog, now: Date): number {
  const oldest = waiting.at(-1)?.receivedAt;
  return oldest ? now.getTime() - timestampDate(oldest).getTime() : 0;
}

/** The latest 12 callbacks of any kind, newest first. */
export function callbacksToReview({ waiting, dead, mismatch }: Backlog): Callback[] {
  // Ids start with their creation time.
  const all = [...waiting, ...dead, ...mismatch];
  return all.sort((one, other) => (one.callbackId < other.callbackId ? 1 : -1)).slice(0, 12);
}

export function countUpToMax(count: number): string {
  return count >= MAX_COUNT ? `${MAX_COUNT}+` : String(count);
}
