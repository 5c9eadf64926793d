// A look at the whole hub: whether it serves, what waits, what was given up, what came in; and what of that needs somebody.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type Callback, CallbackState, ChargeStatus } from '../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { type HealthTrouble, healthOf } from '../../story/health.ts';
import { createReading } from '../../story/metric-reading.ts';
import { spanText } from './components/moment.tsx';
import { isLimited, may } from './may.ts';
import { linkTo } from './route.ts';
import type { SignedIn } from './signed-in.ts';

export type Seen = {
  readonly serving: boolean;
  readonly version: string;
  readonly hubTime: Date;
  /** How much later the hub's clock is than this computer's. */
  readonly skewMs: number;
  /** Undefined if it may not be seen. */
  readonly backlog: Backlog | undefined;
  /** What is not well, of what the hub says of itself; nothing if it may not be seen. */
  readonly unwell: readonly HealthTrouble[];
  /** Sessions of the last day; undefined if they may not be seen. */
  readonly pending: number | undefined;
  /** Within the last day. */
  readonly paid: readonly Paid[];
};

/** At most COUNTED of each, newest first. */
export type Backlog = {
  readonly waiting: readonly Callback[];
  readonly dead: readonly Callback[];
  readonly mismatch: readonly Callback[];
};

type Paid = { readonly currency: string; readonly minorUnits: bigint; readonly payments: bigint };

/** What there is more of is not counted: the answer to "how bad is it" is the same. */
const COUNTED = 100;
const DAY_MS = 86_400_000;
/** A callback that has waited for so long waits for a provider that does not answer. */
const LONG_MS = 10 * 60_000;
/** Clocks that differ by more make it hard to compare what is shown with a log. */
const SKEW_MS = 30_000;

export async function look({ hub, caller }: SignedIn, signal: AbortSignal): Promise<Seen> {
  const sees = (method: Parameters<typeof may>[1]): boolean => !isLimited(caller) && may(caller, method);
  const seesCallbacks = sees(PaymentAdminService.method.listCallbacks);
  const list = async (state: CallbackState): Promise<Callback[]> => {
    if (!seesCallbacks) return [];
    return (await hub.paymentAdmin.listCallbacks({ state, pageSize: COUNTED }, { signal })).callbacks;
  };
  const now = Date.now();
  const aDayAgo = timestampFromDate(new Date(now - DAY_MS));
  const pending = { status: ChargeStatus.PENDING, createdFrom: aDayAgo, pageSize: COUNTED };
  const period = { settledFrom: aDayAgo, settledTo: timestampFromDate(new Date(now + DAY_MS)) };
  const [health, told, waiting, dead, mismatch, sessions, usage, metrics] = await Promise.all([
    hub.health.check({}, { signal }),
    hub.access.getCaller({}, { signal }),
    list(CallbackState.RECEIVED),
    list(CallbackState.DEAD),
    list(CallbackState.MISMATCH),
    sees(PaymentService.method.listChargeSessions)
      ? hub.payments.listChargeSessions(pending, { signal })
      : undefined,
    sees(PaymentAdminService.method.summarizeUsage)
      ? hub.paymentAdmin.summarizeUsage(period, { signal })
      : undefined,
    sees(MetricsService.method.readMetrics) ? hub.metrics.readMetrics({}, { signal }) : undefined,
  ]);
  const hubTime = told.hubTime ? timestampDate(told.hubTime) : new Date();
  return {
    serving: health.status === ServingStatus.SERVING,
    version: told.hubVersion,
    hubTime,
    skewMs: hubTime.getTime() - Date.now(),
    unwell: healthOf(createReading(metrics?.families ?? [], 0), hubTime).filter(
      (finding) => finding.state !== 'ok',
    ),
    backlog: seesCallbacks ? { waiting, dead, mismatch } : undefined,
    pending: sessions?.sessions.length,
    paid: [...Map.groupBy(usage?.days ?? [], ({ currency }) => currency)].map(([currency, days]) => ({
      currency,
      minorUnits: days.reduce((sum, { paidMinorUnits }) => sum + paidMinorUnits, 0n),
      payments: days.reduce((sum, { payments }) => sum + payments, 0n),
    })),
  };
}

export type Finding = { readonly text: string; readonly advice: string; readonly link?: string };

/** What needs somebody, and what to do; the worst first. */
export function findingsOf({ serving, backlog, unwell, skewMs, hubTime }: Seen): Finding[] {
  const wait = backlog ? longestWait(backlog, hubTime) : 0;
  const findings: (Finding | false | undefined)[] = [
    !serving && {
      text: 'The hub does not serve: its database takes no writes.',
      advice: 'Is PostgreSQL up, and is it the primary? hubctl doctor looks at both.',
    },
    backlog !== undefined &&
      backlog.dead.length > 0 && {
        text: `Callbacks given up after a day of attempts: ${counted(backlog.dead.length)}.`,
        advice: 'See why, and replay them once the provider answers',
        link: linkTo(['callbacks'], { state: 'dead' }),
      },
    backlog !== undefined &&
      wait > LONG_MS && {
        text: `Callbacks waiting: ${counted(backlog.waiting.length)}, one of them for ${spanText(wait)}.`,
        advice: 'See whether the provider answers',
        link: linkTo(['callbacks'], { state: 'received' }),
      },
    ...unwell.map(({ check, detail }) => ({
      text: `${check}: ${detail}.`,
      advice: 'See what mends it',
      link: linkTo(['health']),
    })),
    Math.abs(skewMs) > SKEW_MS && {
      text: `The hub’s clock and this computer’s differ by ${spanText(Math.abs(skewMs))}.`,
      advice: 'Times here are those of the hub.',
    },
  ];
  return findings.filter((each) => each !== false && each !== undefined);
}

/** How long the oldest that was counted has waited. */
export function longestWait({ waiting }: Backlog, now: Date): number {
  const oldest = waiting.at(-1)?.receivedAt;
  return oldest ? now.getTime() - timestampDate(oldest).getTime() : 0;
}

/** The latest first, of whatever kind. */
export function troubleOf({ waiting, dead, mismatch }: Backlog): Callback[] {
  // Ids begin with their time.
  const all = [...waiting, ...dead, ...mismatch];
  return all.sort((one, other) => (one.callbackId < other.callbackId ? 1 : -1)).slice(0, 12);
}

export function counted(count: number): string {
  return count >= COUNTED ? `${COUNTED}+` : String(count);
}
