// Counts callbacks, sessions and verifications, and measures provider calls.
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, type ChargeStatusName, type RefundStateName } from './entities.ts';
import { ProviderRefused, ProviderUnavailable, type Verdict } from './providers/driver.ts';
import type { StoredSession } from './sessions/read-sessions.ts';
import type { Outcome } from './settlement/finding.ts';

export type PaymentMetrics = ReturnType<typeof createPaymentMetrics>;

const OUTCOMES = CALLBACK_STATES.filter((state) => state !== 'received');
const RESULTS = ['paid', 'not_paid', 'pending', 'reversed', 'mismatch', 'unavailable', 'not_asked', 'error'];
const DUPLICATE_CHECKS = ['found', 'none', 'unavailable', 'given_up'] as const;
const REFUND_CHECKS = ['synced', 'unavailable', 'busy', 'nothing', 'error'] as const;
const REFUND_STATES = ['succeeded', 'failed'] as const satisfies RefundStateName[];
const DEFERRALS = ['busy', 'rate_limited'] as const;
const CHECKOUTS = ['made', 'refused', 'unavailable', 'error'];
/** In seconds. The default timeout of a provider call is half a minute. */
const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createPaymentMetrics(metrics: Metrics, gateways: Iterable<string>) {
  const counter = <const L extends string>(name: string, labelNames: readonly L[], help: string) =>
    metrics.counter({ name, labelNames, help });
  const histogram = (name: string, help: string) =>
    metrics.histogram({ name, labelNames: ['slot'], help, buckets: BUCKETS });

  const received = counter(
    'hub_callbacks_received_total',
    ['gateway'],
    'Callbacks committed to the journal.',
  );
  const counted = counter(
    'hub_callbacks_counted_total',
    ['gateway'],
    'Callbacks that were only counted, because their session has HUB_SESSION_CALLBACKS in the journal.',
  );
  const finished = counter(
    'hub_callbacks_total',
    ['gateway', 'outcome'],
    'Callbacks by their final state in the journal. A replayed callback counts again.',
  );
  const created = counter('hub_sessions_created_total', ['slot'], 'Charge sessions created.');
  const changed = counter(
    'hub_session_status_changes_total',
    ['slot', 'status'],
    'Status changes of charge sessions by the new status.',
  );
  const verifications = counter(
    'hub_verifications_total',
    ['slot', 'result'],
    'Verifications of sessions by result; not_asked: too many were waiting; error: the hub failed.',
  );
  const verified = histogram(
    'hub_verification_duration_seconds',
    'Duration of a verification with all its provider calls.',
  );
  const checkouts = counter(
    'hub_checkouts_total',
    ['slot', 'result'],
    'Checkouts requested from providers by result.',
  );
  const checkedOut = histogram('hub_checkout_duration_seconds', 'Duration of the creation of a checkout.');
  const deferred = counter(
    'hub_questions_put_off_total',
    ['reason'],
    'Callbacks without a verification: another one was running, or the rate limit is reached.',
  );
  const swept = counter('hub_sweep_questions_total', ['result'], 'Checks by the sweep by result.');
  const fenced = counter(
    'hub_settlements_fenced_total',
    ['slot'],
    'Provider answers that were discarded because another hub had taken the verification lease.',
  );
  const duplicateChecks = counter(
    'hub_duplicate_checks_total',
    ['result'],
    'Checks for duplicate payments of paid sessions by result; given_up: no answer for a day.',
  );
  const refundsFinished = counter(
    'hub_refunds_total',
    ['gateway', 'state'],
    'Refunds and disputes that reached a final state, by that state.',
  );
  const refundsSwept = counter(
    'hub_refund_checks_total',
    ['result'],
    'Checks for refunds of a session at its provider by result.',
  );

  // Prometheus sees no increase in a series that starts at 1, so every series starts at 0.
  for (const gateway of gateways) {
    received.labels(gateway).inc(0);
    counted.labels(gateway).inc(0);
    for (const outcome of OUTCOMES) finished.labels(gateway, outcome).inc(0);
    for (const state of REFUND_STATES) refundsFinished.labels(gateway, state).inc(0);
  }
  for (const result of DUPLICATE_CHECKS) duplicateChecks.labels(result).inc(0);
  for (const result of REFUND_CHECKS) refundsSwept.labels(result).inc(0);
  for (const reason of DEFERRALS) deferred.labels(reason).inc(0);
  const slots = new Set<string>();

  return {
    received: (gateway: string): void => received.labels(gateway).inc(),
    /** A callback was only counted, because the journal keeps no more of its session. */
    counted: (gateway: string): void => counted.labels(gateway).inc(),
    finished: (gateway: string, state: Outcome['state'], count: number): void =>
      finished.labels(gateway, state).inc(count),
    sessionCreated: (slot: string): void => created.labels(slot).inc(),
    statusChanged: ({ slot }: Pick<StoredSession, 'slot'>, status: ChargeStatusName): void =>
      changed.labels(slot, status).inc(),
    /** Runs a verification, and records its duration and verdict. */
    verification: <T extends Pick<Verdict, 'kind'>>(slot: string, verify: () => Promise<T>): Promise<T> =>
      measure(
        verify,
        ({ kind }) => kind,
        (result, seconds) => {
          verifications.labels(slot, result === 'refused' ? 'error' : result).inc();
          verified.labels(slot).observe(seconds);
        },
      ),
    /** A verification did not run, because too many were waiting. */
    verificationRejected: (slot: string): void => verifications.labels(slot, 'not_asked').inc(),
    checkout: <T>(slot: string, create: () => Promise<T>): Promise<T> =>
      measure(
        create,
        () => 'made',
        (result, seconds) => {
          checkouts.labels(slot, result).inc();
          checkedOut.labels(slot).observe(seconds);
        },
      ),
    /** A callback triggered no verification: the lease was taken, or the rate limit was reached. */
    verificationDeferred: (reason: (typeof DEFERRALS)[number]): void => deferred.labels(reason).inc(),
    fenced: (slot: string): void => fenced.labels(slot).inc(),
    duplicateCheck: (result: (typeof DUPLICATE_CHECKS)[number]): void => duplicateChecks.labels(result).inc(),
    refundFinished: (gateway: string, state: (typeof REFUND_STATES)[number]): void =>
      refundsFinished.labels(gateway, state).inc(),
    refundSwept: (result: (typeof REFUND_CHECKS)[number]): void => refundsSwept.labels(result).inc(),
    swept: (result: string): void => swept.labels(result).inc(),
    /** Makes the counters of a slot start at 0. */
    addSlot(slot: string): void {
      if (slots.has(slot)) return;
      slots.add(slot);
      created.labels(slot).inc(0);
      fenced.labels(slot).inc(0);
      for (const status of CHARGE_STATUSES) changed.labels(slot, status).inc(0);
      for (const result of RESULTS) verifications.labels(slot, result).inc(0);
      for (const result of CHECKOUTS) checkouts.labels(slot, result).inc(0);
    },
    slots: (): Iterable<string> => slots,
  };
}

/** Runs a provider call and records its result and its duration. */
async function measure<T>(
  call: () => Promise<T>,
  resultOf: (value: T) => string,
  record: (result: string, seconds: number) => void,
): Promise<T> {
  const start = performance.now();
  let result = 'error';
  try {
    const value = await call();
    result = resultOf(value);
    return value;
  } catch (error) {
    if (error instanceof ProviderRefused) result = 'refused';
    if (error instanceof ProviderUnavailable) result = 'unavailable';
    throw error;
  } finally {
    record(result, (performance.now() - start) / 1_000);
  }
}
