// Health checks of a running hub: its metrics against the thresholds of docs/operations/alerts.yml.
import type { Reading } from './metric-reading.ts';

export type HealthFinding =
  | { readonly check: string; readonly state: 'ok'; readonly detail: string }
  | HealthProblem;
export type HealthProblem = { readonly check: string } & Problem;

type Problem = { readonly state: 'warning' | 'failed'; readonly detail: string; readonly remedy: string };

type Check = {
  readonly check: string;
  /** The detail if there is no problem. */
  readonly okText: string;
  readonly findProblem: (reading: Reading, nowMs: number) => Problem | undefined;
};

const DAY_S = 86_400;

const CHECKS: readonly Check[] = [
  {
    check: 'processes',
    okText: 'all workers respond; memory, files and connections are within limits',
    findProblem: ({ value, extreme }) => {
      const wanted = value('hub_workers', { state: 'wanted' }) ?? 1;
      const answering = value('hub_workers', { state: 'answering' }) ?? 1;
      if (answering < wanted)
        return warning(
          `${answering} of ${wanted} workers respond`,
          'look in the log for why the others ended',
        );
      const files = (value('process_open_fds') ?? 0) / wanted;
      const most = extreme('min', 'process_max_fds') ?? Number.POSITIVE_INFINITY;
      if (files > 0.8 * most)
        return failure(
          `${Math.round(files)} of ${most} file descriptors are open`,
          'raise LimitNOFILE or ulimit -n',
        );
      const connections = (value('hub_http_connections') ?? 0) / wanted;
      if (connections > 8_000)
        return failure(
          `a process has ${Math.round(connections)} of 10000 connections`,
          'see the runbook HubConnectionsRunOut',
        );
      const memory = (value('process_resident_memory_bytes') ?? 0) / wanted;
      if (memory > 1e9)
        return warning(`a process holds ${Math.round(memory / 1e6)} MB`, 'see the runbook HubMemoryHigh');
      return undefined;
    },
  },
  {
    check: 'connections to the database',
    okText: 'no requests are waiting for a connection',
    findProblem: ({ value, extreme }) => {
      if (extreme('min', 'hub_database_up') === 0)
        return failure(
          'the hub cannot reach the database',
          'check that the database is running, and look in the log of the hub',
        );
      const waiting = value('hub_pg_pool_waiting') ?? 0;
      if (waiting === 0) return undefined;
      return warning(
        `${waiting} requests are waiting for a connection`,
        'look for slow statements in pg_stat_activity, or raise HUB_DATABASE_POOL',
      );
    },
  },
  {
    check: 'Redis of the hub',
    okText: 'no errors, or not configured',
    findProblem: ({ extreme }) => {
      if (extreme('min', 'hub_redis_up') === 0)
        return warning(
          'does not respond: each process counts requests by itself',
          'start Redis, or correct REDIS_URL',
        );
      if (extreme('min', 'hub_redis_takes_writes') === 0)
        return warning(
          'refuses writes: each process counts requests by itself',
          'set REDIS_URL to a primary with free memory; the log has the reason',
        );
      return undefined;
    },
  },
  {
    check: 'log',
    okText: 'all lines were written',
    findProblem: ({ value, extreme }) => {
      const lost = value('hub_log_lost_lines_total') ?? 0;
      if (extreme('min', 'hub_log_writable') === 0)
        return failure(
          `cannot be written: ${lost} lines are lost`,
          'free disk space, or restart the program that reads the log; the hub keeps serving',
        );
      if (lost > 0)
        return warning(
          `${lost} lines were lost since the hub started`,
          'look for the reason in the standard error of the hub; a restart resets the count',
        );
      return undefined;
    },
  },
  {
    check: 'tasks',
    okText: 'all succeeded in the last 5 minutes',
    findProblem: ({ samples }, nowMs) => {
      const late = samples
        .filter(({ name, labels }) => name === LAST_SUCCESS && labels['task'] !== 'partitions')
        .map(({ labels, value }) => ({ task: labels['task'], seconds: Math.round(nowMs / 1000 - value) }))
        .filter(({ seconds }) => seconds > 300);
      if (late.length === 0) return undefined;
      const overdue = late.map(({ task, seconds }) => `${task} for ${seconds} s`).join(', ');
      return failure(`have not succeeded: ${overdue}`, 'look in the log for the reason');
    },
  },
  {
    check: 'sweep',
    okText: 'verifies every session on time',
    findProblem: ({ extreme }) => {
      const seconds = Math.round(extreme('max', 'hub_sweep_overdue_seconds') ?? 0);
      if (seconds <= 600) return undefined;
      return warning(
        `is ${seconds} s late`,
        'run hubctl slot test for each slot, and raise HUB_PROVIDER_QUESTIONS',
      );
    },
  },
  {
    check: 'held payments',
    okText: 'none has been held for review for over an hour',
    findProblem: ({ extreme }) => {
      const minutes = Math.round((extreme('max', 'hub_sessions_oldest_held_seconds') ?? 0) / 60);
      if (minutes <= 60) return undefined;
      const held = extreme('max', 'hub_sessions_held') ?? 0;
      return warning(
        `${held} held for review, the oldest for ${minutes} minutes`,
        'run hubctl session list --held, and release the payments or refund the customers',
      );
    },
  },
  {
    check: 'orders',
    okText: 'each paid order is fulfilled',
    findProblem: ({ extreme }) => {
      const blocked = extreme('max', 'hub_orders_blocked') ?? 0;
      if (blocked === 0) return undefined;
      return warning(
        `${blocked} paid ${blocked === 1 ? 'order is' : 'orders are'} blocked`,
        'see hubctl order list --state blocked for the reasons, then hubctl order retry each',
      );
    },
  },
  {
    check: 'fees',
    okText: 'no slot with at least 20 payments in the last day shows fees other than those of the fee rules',
    findProblem: ({ extreme }) => {
      const ratio = extreme('max', 'hub_fee_drift_ratio') ?? 0;
      if (ratio <= 0.001) return undefined;
      return warning(
        `a provider takes other fees than the fee rules say: ${(ratio * 100).toFixed(2)} % of the amounts`,
        'see hubctl fee audit, and find the rule that fits with hubctl fee backtest --fit',
      );
    },
  },
  {
    check: 'refunds',
    okText: 'none is pending for over a day or needs review',
    findProblem: ({ extreme }) => {
      const review = extreme('max', 'hub_refunds_needing_review') ?? 0;
      if (review > 0)
        return warning(
          `${review} ${review === 1 ? 'needs' : 'need'} review`,
          'see hubctl refund list --needs-review for the reasons, then hubctl refund resolve each',
        );
      const seconds = extreme('max', 'hub_refunds_oldest_pending_seconds') ?? 0;
      if (seconds <= DAY_S) return undefined;
      return warning(
        `the oldest has been pending for ${Math.floor(seconds / 3_600)} hours`,
        'see hubctl refund list --state pending for the reason',
      );
    },
  },
  {
    check: 'mails',
    okText: 'none failed or waits for over an hour',
    findProblem: ({ extreme }) => {
      const failed = extreme('max', 'hub_mails_failed') ?? 0;
      if (failed > 0)
        return warning(
          `${failed} failed in the last three days`,
          'see hubctl mail list --state failed for the reasons, then hubctl mail resend each',
        );
      const minutes = Math.round((extreme('max', 'hub_mail_queue_age_seconds') ?? 0) / 60);
      if (minutes <= 60) return undefined;
      return warning(
        `the oldest has been waiting for ${minutes} minutes`,
        'see hubctl mail list --state queued for the reason, and send one with hubctl mail test',
      );
    },
  },
  {
    check: 'strays',
    okText: 'no stray callbacks are waiting',
    findProblem: ({ extreme }) => {
      const seconds = Math.round(extreme('max', 'hub_callbacks_oldest_stray_seconds') ?? 0);
      if (seconds <= 60) return undefined;
      return failure(
        `a stray callback has been waiting for ${seconds} s`,
        'look in the log for the reason; restart the core',
      );
    },
  },
  {
    check: 'events',
    okText: 'are numbered and delivered on time',
    findProblem: ({ extreme }) => {
      const unnumbered = Math.round(extreme('max', 'hub_events_unnumbered_age_seconds') ?? 0);
      if (unnumbered > 60)
        return failure(
          `an event has been waiting for its number for ${unnumbered} s`,
          'look in the log for why the task event_sequencer fails; see the runbook HubEventsUnnumbered',
        );
      const overdue = Math.round(extreme('max', 'hub_event_deliveries_overdue_seconds') ?? 0);
      if (overdue <= 300) return undefined;
      return warning(
        `a delivery is ${overdue} s late`,
        'look in the log for why the task event_deliveries fails; a slow endpoint delays only its own deliveries',
      );
    },
  },
  {
    check: 'endpoints',
    okText: 'answer, or there are none',
    findProblem: ({ extreme }) => {
      const failing = extreme('max', 'hub_event_endpoints', { state: 'failing' }) ?? 0;
      if (failing === 0) return undefined;
      return warning(
        `${failing} of ${failing + (extreme('max', 'hub_event_endpoints', { state: 'enabled' }) ?? 0)} fail`,
        'see hubctl endpoint list, and hubctl endpoint show for the problem of each; after three days the hub disables it',
      );
    },
  },
  {
    check: 'partitions',
    okText: 'the partitions of the next month exist',
    findProblem: ({ extreme }) =>
      (extreme('min', 'hub_partition_months_ahead') ?? 1) < 1
        ? warning(
            'the partitions of the next month are missing',
            'look in the log for why the task partitions fails',
          )
        : undefined,
  },
  {
    check: 'audit chain',
    okText: 'is complete as far as the hub knows, and up to date',
    findProblem: ({ extreme }) => {
      if (extreme('max', 'hub_audit_head_lost') === 1)
        return failure(
          'has lost entries that the hub knows',
          'run hubctl audit verify: it names the first lost entry',
        );
      if (extreme('max', 'hub_audit_chain_stopped') === 1)
        return failure(
          'cannot continue: its key or its head is missing',
          'run hubctl audit verify: it says which; see the runbook HubAuditChainStopped',
        );
      const waited = Math.round(extreme('max', 'hub_audit_oldest_unlinked_seconds') ?? 0);
      if (waited > 300)
        return failure(
          `an entry has been waiting for its link for ${waited} s`,
          'look in the log for the reason; see the runbook HubAuditEntriesUnlinked',
        );
      const unlinked = extreme('max', 'hub_audit_unlinked_entries') ?? 0;
      if (unlinked <= 5_000) return undefined;
      return warning(
        `at least ${unlinked} entries are not linked yet`,
        'look in the log for why the task audit_chain fails',
      );
    },
  },
  {
    check: 'clock of the hub',
    okText: 'matches the clock of the database',
    findProblem: ({ extreme }) => {
      const ahead = extreme('max', 'hub_clock_ahead_seconds') ?? 0;
      const behind = -(extreme('min', 'hub_clock_ahead_seconds') ?? 0);
      const seconds = Math.round(Math.max(ahead, behind));
      if (seconds <= 60) return undefined;
      return warning(
        `is ${seconds} s ${ahead > behind ? 'ahead of' : 'behind'} the clock of the database`,
        'synchronize the clocks (NTP)',
      );
    },
  },
  {
    check: 'certificate',
    okText: 'is valid for more than two weeks, or not configured',
    findProblem: ({ extreme }, nowMs) => {
      const until = extreme('min', 'hub_rpc_certificate_expires_timestamp_seconds');
      const days = until === undefined ? Number.POSITIVE_INFINITY : (until - nowMs / 1000) / DAY_S;
      if (days > 14) return undefined;
      const detail = days < 0 ? 'has expired' : `expires in ${Math.floor(days)} days`;
      return {
        state: days < 0 ? 'failed' : 'warning',
        detail,
        remedy: 'replace the files of HUB_RPC_TLS_CERT and HUB_RPC_TLS_KEY',
      };
    },
  },
];

const LAST_SUCCESS = 'hub_task_last_success_timestamp_seconds';

/** Runs all checks. `now` is the hub's time, because the caller's clock may be wrong. */
export function checkHealth(reading: Reading, now: Date): HealthFinding[] {
  return CHECKS.map(({ check, okText, findProblem }) => {
    const found = findProblem(reading, now.getTime());
    return found === undefined ? { check, state: 'ok', detail: okText } : { check, ...found };
  });
}

function warning(detail: string, remedy: string): Problem {
  return { state: 'warning', detail, remedy };
}

function failure(detail: string, remedy: string): Problem {
  return { state: 'failed', detail, remedy };
}
