// Counts callbacks, sessions and verifications, and measures provider calls.
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, type ChargeStatusName, type RefundStateName } from './entities.ts';
import { ProviderRefused, ProviderUnavailable, type Verdict } from './providers/driver.ts';
import type { StoredSession } from './sessions/read-sessions.ts';
import type { Outcome } from './settlement/finding.ts';

export type PaymentMetrics = {
  /** A callback was committed to the journal. */
  received(gateway: string): void;
  /** A callback was only counted, because the journal keeps no more of its session. */
  counted(gateway: string): void;
  /** Callbacks reached their final state. */
  finished(gateway: string, state: Outcome['state'], count: number): void;
  sessionCreated(slot: string): void;
  statusChanged(session: Pick<StoredSession, 'slot'>, status: ChargeStatusName): void;
  /** Runs a verification, and records its duration and verdict. */
  verification<T extends Pick<Verdict, 'kind'>>(slot: string, verify: () => Promise<T>): Promise<T>;
  /** A verification did not run, because too many were waiting. */
  verificationRejected(slot: string): void;
  /** A callback triggered no verification: the lease was taken, or the rate limit was reached. */
  verificationDeferred(reason: 'busy' | 'rate_limited'): void;
  checkout<T>(slot: string, create: () => Promise<T>): Promise<T>;
  /** An answer was discarded, because another hub had taken the verification lease. */
  fenced(slot: string): void;
  /** The hub looked for duplicate payments of a session at its provider. */
  duplicateCheck(result: 'found' | 'none' | 'unavailable' | 'given_up'): void;
  /** A refund or dispute reached a final state. */
  refundFinished(gateway: string, state: Exclude<RefundStateName, 'pending'>): void;
  /** The refund sweep asked a provider about the refunds of a session. */
  refundSwept(result: 'synced' | 'unavailable' | 'busy' | 'nothing' | 'error'): void;
  /** The sweep checked a session. */
  swept(result: string): void;
  /** Makes the counters of a slot start at 0. */
  addSlot(slot: string): void;
  slots(): Iterable<string>;
};

const OUTCOMES = CALLBACK_STATES.filter((state) => state !== 'received');
const RESULTS = ['paid', 'not_paid', 'pending', 'reversed', 'mismatch', 'unavailable', 'not_asked', 'error'];
const REFUND_CHECKS = ['synced', 'unavailable', 'busy', 'nothing', 'error'];
const CHECKOUTS = ['made', 'refused', 'unavailable', 'error'];
/** In seconds. The default timeout of a provider call is half a minute. */
const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createPaymentMetrics(metrics: Metrics, gateways: Iterable<string>): PaymentMetrics {
  const received = metrics.counter({
    name: 'hub_callbacks_received_total',
    help: 'Callbacks committed to the journal.',
    labelNames: ['gateway'],
  });
  const counted = metrics.counter({
    name: 'hub_callbacks_counted_total',
    help: 'Callbacks that were only counted, because their session has HUB_SESSION_CALLBACKS in the journal.',
    labelNames: ['gateway'],
  });
  const finished = metrics.counter({
    name: 'hub_callbacks_total',
    help: 'Callbacks by their final state in the journal. A replayed callback counts again.',
    labelNames: ['gateway', 'outcome'],
  });
  const created = metrics.counter({
    name: 'hub_sessions_created_total',
    help: 'Charge sessions created.',
    labelNames: ['slot'],
  });
  const changed = metrics.counter({
    name: 'hub_session_status_changes_total',
    help: 'Status changes of charge sessions by the new status.',
    labelNames: ['slot', 'status'],
  });
  const verifications = metrics.counter({
    name: 'hub_verifications_total',
    help: 'Verifications of sessions by result; not_asked: too many were waiting; error: the hub failed.',
    labelNames: ['slot', 'result'],
  });
  const verified = metrics.histogram({
    name: 'hub_verification_duration_seconds',
    help: 'Duration of a verification with all its provider calls.',
    labelNames: ['slot'],
    buckets: BUCKETS,
  });
  const checkouts = metrics.counter({
    name: 'hub_checkouts_total',
    help: 'Checkouts requested from providers by result.',
    labelNames: ['slot', 'result'],
  });
  const checkedOut = metrics.histogram({
    name: 'hub_checkout_duration_seconds',
    help: 'Duration of the creation of a checkout.',
    labelNames: ['slot'],
    buckets: BUCKETS,
  });
  const deferred = metrics.counter({
    name: 'hub_questions_put_off_total',
    help: 'Callbacks without a verification: another one was running, or the rate limit is reached.',
    labelNames: ['reason'],
  });
  const swept = metrics.counter({
    name: 'hub_sweep_questions_total',
    help: 'Checks by the sweep by result.',
    labelNames: ['result'],
  });

  const fenced = metrics.counter({
    name: 'hub_settlements_fenced_total',
    help: 'Provider answers that were discarded because another hub had taken the verification lease.',
    labelNames: ['slot'],
  });
  const duplicateChecks = metrics.counter({
    name: 'hub_duplicate_checks_total',
    help: 'Checks for duplicate payments of paid sessions by result; given_up: no answer for a day.',
    labelNames: ['result'],
  });

  const refundsFinished = metrics.counter({
    name: 'hub_refunds_total',
    help: 'Refunds and disputes that reached a final state, by that state.',
    labelNames: ['gateway', 'state'],
  });
  const refundsSwept = metrics.counter({
    name: 'hub_refund_checks_total',
    help: 'Checks for refunds of a session at its provider by result.',
    labelNames: ['result'],
  });

  // Prometheus sees no increase in a series that starts at 1, so every series starts at 0.
  for (const gateway of gateways) {
    received.labels(gateway).inc(0);
    counted.labels(gateway).inc(0);
    for (const outcome of OUTCOMES) finished.labels(gateway, outcome).inc(0);
    for (const state of ['succeeded', 'failed']) refundsFinished.labels(gateway, state).inc(0);
  }
  for (const result of ['found', 'none', 'unavailable', 'given_up']) duplicateChecks.labels(result).inc(0);
  for (const result of REFUND_CHECKS) refundsSwept.labels(result).inc(0);
  deferred.labels('busy').inc(0);
  deferred.labels('rate_limited').inc(0);
  const slots = new Set<string>();
  const addSlot = (slot: string): void => {
    if (slots.has(slot)) return;
    slots.add(slot);
    created.labels(slot).inc(0);
    fenced.labels(slot).inc(0);
    for (const status of CHARGE_STATUSES) changed.labels(slot, status).inc(0);
    for (const result of RESULTS) verifications.labels(slot, result).inc(0);
    for (const result of CHECKOUTS) checkouts.labels(slot, result).inc(0);
  };

  return {
    received: (gateway) => received.labels(gateway).inc(),
    counted: (gateway) => counted.labels(gateway).inc(),
    finished: (gateway, state, count) => finished.labels(gateway, state).inc(count),
    sessionCreated: (slot) => created.labels(slot).inc(),
    statusChanged: ({ slot }, status) => changed.labels(slot, status).inc(),
    verification: (slot, verify) =>
      measure(
        verify,
        ({ kind }) => kind,
        (result, seconds) => {
          verifications.labels(slot, result === 'refused' ? 'error' : result).inc();
          verified.labels(slot).observe(seconds);
        },
      ),
    verificationRejected: (slot) => verifications.labels(slot, 'not_asked').inc(),
    checkout: (slot, create) =>
      measure(
        create,
        () => 'made',
        (result, seconds) => {
          checkouts.labels(slot, result).inc();
          checkedOut.labels(slot).observe(seconds);
        },
      ),
    verificationDeferred: (reason) => deferred.labels(reason).inc(),
    fenced: (slot) => fenced.labels(slot).inc(),
    duplicateCheck: (result) => duplicateChecks.labels(result).inc(),
    refundFinished: (gateway, state) => refundsFinished.labels(gateway, state).inc(),
    refundSwept: (result) => refundsSwept.labels(result).inc(),
    swept: (result) => swept.labels(result).inc(),
    addSlot,
    slots: () => slots,
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
