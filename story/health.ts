// What a running hub says of itself, held to the thresholds of docs/operations/alerts.yml.
import type { Reading } from './metric-reading.ts';

export type HealthFinding =
  | { readonly check: string; readonly state: 'ok'; readonly detail: string }
  | HealthTrouble;
export type HealthTrouble = { readonly check: string } & Trouble;

type Trouble = { readonly state: 'warning' | 'failed'; readonly detail: string; readonly remedy: string };

type Check = {
  readonly check: string;
  /** What is said if there is no trouble. */
  readonly well: string;
  readonly trouble: (reading: Reading, nowMs: number) => Trouble | undefined;
};

const DAY_S = 86_400;

const CHECKS: readonly Check[] = [
  {
    check: 'processes',
    well: 'all workers answer, with memory, files and connections to spare',
    trouble: ({ value, extreme }) => {
      const wanted = value('hub_workers', { state: 'wanted' }) ?? 1;
      const answering = value('hub_workers', { state: 'answering' }) ?? 1;
      if (answering < wanted)
        return warning(`${answering} of ${wanted} workers answer`, 'see in the log why the others died');
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
    well: 'nobody waits for one',
    trouble: ({ value, extreme }) => {
      if (extreme('min', 'hub_database_up') === 0)
        return failure(
          'the database does not answer the hub',
          'see that it runs, and what the hub has logged',
        );
      const waiting = value('hub_pg_pool_waiting') ?? 0;
      if (waiting === 0) return undefined;
      return warning(
        `${waiting} requests wait for one`,
        'see what is slow in pg_stat_activity; raise HUB_DATABASE_POOL',
      );
    },
  },
  {
    check: 'Redis of the hub',
    well: 'it answers, or none is used',
    trouble: ({ extreme }) => {
      if (extreme('min', 'hub_redis_up') === 0)
        return warning(
          'it does not answer: each process counts requests by itself',
          'start it, or correct REDIS_URL',
        );
      if (extreme('min', 'hub_redis_takes_writes') === 0)
        return warning(
          'it refuses writes: each process counts requests by itself',
          'point REDIS_URL to a primary with free memory; the log has the reason',
        );
      return undefined;
    },
  },
  {
    check: 'log',
    well: 'every line was written',
    trouble: ({ value, extreme }) => {
      const lost = value('hub_log_lost_lines_total') ?? 0;
      if (extreme('min', 'hub_log_writable') === 0)
        return failure(
          `it cannot be written: ${lost} lines are lost`,
          'free space on its disk, or restart the program that reads it; the hub serves meanwhile',
        );
      if (lost > 0)
        return warning(
          `${lost} lines were lost since the hub started`,
          'see the standard error of the hub for the reason; a restart resets the count',
        );
      return undefined;
    },
  },
  {
    check: 'tasks',
    well: 'all have gone well lately',
    trouble: ({ samples }, nowMs) => {
      const late = samples
        .filter(({ name, labels }) => name === LAST_SUCCESS && labels['task'] !== 'partitions')
        .map(({ labels, value }) => ({
          task: labels['task'],
          seconds: Math.round(nowMs / 1000 - value),
        }))
        .filter(({ seconds }) => seconds > 300);
      if (late.length === 0) return undefined;
      const told = late.map(({ task, seconds }) => `${task} for ${seconds} s`).join(', ');
      return failure(`have not gone well: ${told}`, 'see in the log why');
    },
  },
  {
    check: 'sweep',
    well: 'asks about every session when it is due',
    trouble: ({ extreme }) => {
      const seconds = Math.round(extreme('max', 'hub_sweep_overdue_seconds') ?? 0);
      if (seconds <= 600) return undefined;
      return warning(
        `is ${seconds} s late`,
        'see hubctl slot test of each slot, and raise HUB_PROVIDER_QUESTIONS',
      );
    },
  },
  {
    check: 'held payments',
    well: 'none has been held for review for an hour',
    trouble: ({ extreme }) => {
      const minutes = Math.round((extreme('max', 'hub_sessions_oldest_held_seconds') ?? 0) / 60);
      if (minutes <= 60) return undefined;
      const held = extreme('max', 'hub_sessions_held') ?? 0;
      return warning(
        `${held} held for review, the first for ${minutes} minutes`,
        'see hubctl session list --held, and release them or refund the customers',
      );
    },
  },
  {
    check: 'strays',
    well: 'no callback is left lying',
    trouble: ({ extreme }) => {
      const seconds = Math.round(extreme('max', 'hub_callbacks_oldest_stray_seconds') ?? 0);
      if (seconds <= 60) return undefined;
      return failure(
        `a callback has been left lying for ${seconds} s`,
        'see in the log why; restart the core',
      );
    },
  },
  {
    check: 'partitions',
    well: 'there are some for the next month',
    trouble: ({ extreme }) =>
      (extreme('min', 'hub_partition_months_ahead') ?? 1) < 1
        ? warning('there are none for the next month', 'see in the log why the task partitions fails')
        : undefined,
  },
  {
    check: 'audit chain',
    well: 'is whole as far as the hub has seen, and up to date',
    trouble: ({ extreme }) => {
      if (extreme('max', 'hub_audit_head_lost') === 1)
        return failure('has lost entries that the hub has seen', 'hubctl audit verify names the first');
      if (extreme('max', 'hub_audit_chain_stopped') === 1)
        return failure(
          'cannot go on: its key or its head is gone',
          'hubctl audit verify says which; see the runbook HubAuditChainStopped',
        );
      const waited = Math.round(extreme('max', 'hub_audit_oldest_unlinked_seconds') ?? 0);
      if (waited > 300)
        return failure(
          `an entry has waited for its link for ${waited} s`,
          'see in the log why; see the runbook HubAuditEntriesUnlinked',
        );
      const unlinked = extreme('max', 'hub_audit_unlinked_entries') ?? 0;
      if (unlinked <= 5_000) return undefined;
      return warning(
        `${unlinked} entries or more are not linked yet`,
        'see in the log why the task audit_chain fails',
      );
    },
  },
  {
    check: 'clock of the hub',
    well: 'agrees with that of its database',
    trouble: ({ extreme }) => {
      const ahead = extreme('max', 'hub_clock_ahead_seconds') ?? 0;
      const behind = -(extreme('min', 'hub_clock_ahead_seconds') ?? 0);
      const seconds = Math.round(Math.max(ahead, behind));
      if (seconds <= 60) return undefined;
      return warning(
        `is ${seconds} s ${ahead > behind ? 'ahead of' : 'behind'} that of its database`,
        'synchronize the clocks (NTP)',
      );
    },
  },
  {
    check: 'certificate',
    well: 'is good for more than two weeks, or none is used',
    trouble: ({ extreme }, nowMs) => {
      const until = extreme('min', 'hub_rpc_certificate_expires_timestamp_seconds');
      const days = until === undefined ? Number.POSITIVE_INFINITY : (until - nowMs / 1000) / DAY_S;
      if (days > 14) return undefined;
      const detail = days < 0 ? 'has expired' : `expires in ${Math.floor(days)} days`;
      return {
        state: days < 0 ? 'failed' : 'warning',
        detail,
        remedy: 'replace the files of HUB_RPC_TLS_CERT and _KEY',
      };
    },
  },
];

const LAST_SUCCESS = 'hub_task_last_success_timestamp_seconds';

/** Of each thing whether it is well, or what to do. `now`: of the hub, since a clock of whoever looks may be off. */
export function healthOf(reading: Reading, now: Date): HealthFinding[] {
  return CHECKS.map(({ check, well, trouble }) => {
    const found = trouble(reading, now.getTime());
    return found === undefined ? { check, state: 'ok', detail: well } : { check, ...found };
  });
}

function warning(detail: string, remedy: string): Trouble {
  return { state: 'warning', detail, remedy };
}

function failure(detail: string, remedy: string): Trouble {
  return { state: 'failed', detail, remedy };
}
