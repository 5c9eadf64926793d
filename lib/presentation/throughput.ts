// Throughput of a hub: rates, latencies and backlogs.

import type { Interval, Reading } from './metric-reading.ts';
import { omitEmpty } from './omit-empty.ts';

export type Throughput = ReturnType<typeof computeThroughput>;

/** Throughput between two readings. Rates are per second. Database figures are absent while the database is down. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: builds one object with many members
export function computeThroughput(reading: Reading, interval: Interval, at: Date) {
  const { rate } = interval;
  const milliseconds = (share: number, name: string, labels: Record<string, string>) => {
    const seconds = interval.quantile(share, name, labels);
    return seconds === undefined ? undefined : tenths(seconds * 1000);
  };
  const latencies = (name: string, labels: Record<string, string> = {}) =>
    omitEmpty({ p50Ms: milliseconds(0.5, name, labels), p99Ms: milliseconds(0.99, name, labels) });
  const whole = (name: string, labels?: Record<string, string>) =>
    Math.round(reading.value(name, labels) ?? 0);
  /** All hubs of a database report the same value. */
  const shared = (name: string, labels?: Record<string, string>) => reading.extreme('max', name, labels);

  const routes = reading.valuesOf('hub_http_requests_total', 'route').map((route) => ({
    name: route,
    perSecond: tenths(rate('hub_http_requests_total', { route })),
    errorsPerSecond: tenths(
      rate('hub_http_requests_total', { route }, ({ status }) => Number(status) >= 500),
    ),
    ...latencies('hub_http_request_duration_seconds', { route }),
  }));
  const methods = reading.valuesOf('hub_rpc_requests_total', 'service').flatMap((service) =>
    reading
      .valuesOf('hub_rpc_requests_total', 'method')
      .filter((method) => reading.value('hub_rpc_requests_total', { service, method }) !== undefined)
      .map((method) => ({
        name: `${service.split('.').at(-1)}/${method}`,
        perSecond: tenths(rate('hub_rpc_requests_total', { service, method })),
        errorsPerSecond: tenths(
          rate('hub_rpc_requests_total', { service, method }, ({ code = '' }) => FAILURES.includes(code)),
        ),
        ...latencies('hub_rpc_request_duration_seconds', { service, method }),
      })),
  );
  const busiest = [...routes, ...methods]
    .filter((each) => each.perSecond > 0)
    .sort((a, b) => b.perSecond - a.perSecond || (a.name < b.name ? -1 : 1));

  return {
    at: at.toISOString(),
    seconds: tenths(interval.seconds),
    version: reading.valuesOf('hub_build_info', 'version')[0] ?? 'unknown',
    requests: busiest,
    callbacks: {
      perSecond: tenths(rate('hub_callbacks_received_total')),
      settledPerSecond: tenths(rate('hub_callbacks_total', { outcome: 'settled' })),
      ...omitEmpty({
        waiting: shared('hub_callbacks_waiting'),
        oldestWaitingSeconds: rounded(shared('hub_callbacks_oldest_waiting_seconds')),
        stray: shared('hub_callbacks_stray'),
        dead: shared('hub_callbacks_dead'),
      }),
    },
    sessions: {
      createdPerSecond: tenths(rate('hub_sessions_created_total')),
      paidPerSecond: tenths(rate('hub_session_status_changes_total', { status: 'success' })),
      ...omitEmpty({ pending: reading.value('hub_sessions_pending') }),
    },
    providers: reading.valuesOf('hub_provider_questions', 'slot').map((slot) => ({
      slot,
      questionsPerSecond: tenths(rate('hub_verifications_total', { slot })),
      failuresPerSecond: tenths(
        rate('hub_verifications_total', { slot }, ({ result = '' }) =>
          ['unavailable', 'error'].includes(result),
        ),
      ),
      ...latencies('hub_verification_duration_seconds', { slot }),
      underWay: whole('hub_provider_questions', { slot, state: 'under_way' }),
      waiting: whole('hub_provider_questions', { slot, state: 'waiting' }),
      ...omitEmpty({ sweepOverdueSeconds: rounded(shared('hub_sweep_overdue_seconds', { slot })) }),
    })),
    licenses: {
      activationsPerSecond: tenths(rate('hub_activations_total')),
      seatsTakenPerSecond: tenths(rate('hub_seats_taken_total')),
      seatsReleasedPerSecond: tenths(rate('hub_seats_released_total')),
      ...omitEmpty({ seatsActive: shared('hub_seats', { state: 'active' }) }),
    },
    refusedPerSecond: Object.fromEntries(
      reading
        .valuesOf('hub_rate_limited_total', 'limit')
        .map((limit) => [limit, tenths(rate('hub_rate_limited_total', { limit }))]),
    ),
    database: {
      up: reading.extreme('min', 'hub_database_up') !== 0,
      connections: whole('hub_pg_pool_connections', { state: 'busy' }),
      limit: whole('hub_pg_pool_limit'),
      waiting: whole('hub_pg_pool_waiting'),
    },
    process: {
      workers: Math.max(1, whole('hub_workers', { state: 'serving' })),
      cpu: Math.round(rate('process_cpu_seconds_total') * 100) / 100,
      memoryBytes: whole('process_resident_memory_bytes'),
      ...omitEmpty({ eventLoopP99Ms: milliseconds(0.99, 'hub_event_loop_delay_seconds', {}) }),
    },
  };
}

/** Connect and gRPC codes of server errors. */
const FAILURES = ['unknown', 'deadline_exceeded', 'internal', 'unavailable', 'data_loss'];

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value);
}
