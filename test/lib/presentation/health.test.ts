// The health findings for the metrics of a running hub.
import { create } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { parse } from 'yaml';
import { MetricFamilySchema } from '../../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { checkHealth } from '../../../lib/presentation/health.ts';
import { createReading } from '../../../lib/presentation/metric-reading.ts';
import { readPage } from '../../docs/markdown.ts';

type Sample = readonly [name: string, value: number, labels?: Record<string, string>];

/** What is not well, of a hub that says this. */
function troubles(...samples: readonly Sample[]) {
  const family = create(MetricFamilySchema, {
    samples: samples.map(([name, value, labels = {}]) => ({ name, labels, value })),
  });
  const findings = checkHealth(createReading([family], 0), new Date(now * 1000)).filter(
    ({ state }) => state !== 'ok',
  );
  for (const finding of findings)
    expect(finding, finding.check).to.have.property('remedy').with.length.above(5);
  return findings.map(({ check, state, detail }) => `${check} ${state}: ${detail}`);
}

const now = 1_800_000_000; // whatever the clock of whoever looks says
const workers = (answering: number): Sample[] => [
  ['hub_workers', 4, { state: 'wanted' }],
  ['hub_workers', answering, { state: 'answering' }],
];

type Alert = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
};

const ALERTS: readonly Alert[] = parse(readPage('docs/operations/alerts.yml')).groups.flatMap(
  ({ rules }: { rules: Alert[] }) => rules,
);
const STATES: Readonly<Record<string, string>> = { critical: 'failed', warning: 'warning' };
/** What a hub says where the expression of an alert has this value. */
const SAYING: Readonly<Record<string, (value: number) => Sample[]>> = {
  HubMemoryHigh: (value) => [['process_resident_memory_bytes', value]],
  HubFilesRunOut: (value) => [
    ['process_open_fds', value * 1e6],
    ['process_max_fds', 1e6],
  ],
  HubConnectionsRunOut: (value) => [['hub_http_connections', value]],
  HubCertificateExpires: (value) => [['hub_rpc_certificate_expires_timestamp_seconds', now + value]],
  HubDatabaseAway: (value) => [['hub_database_up', value]],
  HubPoolExhausted: (value) => [['hub_pg_pool_waiting', value]],
  HubRedisAway: (value) => [['hub_redis_up', value]],
  HubLogUnwritable: (value) => [['hub_log_writable', value]],
  HubRedisRefusesWrites: (value) => [['hub_redis_takes_writes', value]],
  HubClockOff: (value) => [['hub_clock_ahead_seconds', value]],
  HubPartitionsMissing: (value) => [['hub_partition_months_ahead', value]],
  HubCallbacksStray: (value) => [['hub_callbacks_oldest_stray_seconds', value]],
  HubEventsUnnumbered: (value) => [['hub_events_unnumbered_age_seconds', value]],
  HubDeliveriesOverdue: (value) => [['hub_event_deliveries_overdue_seconds', value]],
  HubEndpointFails: (value) => [['hub_event_endpoints', value, { state: 'failing' }]],
  HubOrdersBlocked: (value) => [['hub_orders_blocked', value]],
  HubFeeDrift: (value) => [['hub_fee_drift_ratio', value]],
  HubRefundsPending: (value) => [['hub_refunds_oldest_pending_seconds', value]],
  HubRefundsNeedReview: (value) => [['hub_refunds_needing_review', value]],
  HubMailsFailed: (value) => [['hub_mails_failed', value]],
  HubMailsDelayed: (value) => [['hub_mail_queue_age_seconds', value]],
  HubPaymentsHeld: (value) => [['hub_sessions_oldest_held_seconds', value]],
  HubSweepLate: (value) => [['hub_sweep_overdue_seconds', value]],
  HubTaskStuck: (value) => [['hub_task_last_success_timestamp_seconds', now - value, { task: 'sweep' }]],
  HubAuditChainBehind: (value) => [['hub_audit_unlinked_entries', value]],
  HubAuditEntriesUnlinked: (value) => [['hub_audit_oldest_unlinked_seconds', value]],
  HubAuditChainStopped: (value) => [['hub_audit_chain_stopped', value]],
  HubAuditChainCut: (value) => [['hub_audit_head_lost', value]],
};
/** Alerts that other checks cover: a hub that is down, and what doctor and the overview count themselves. */
const ELSEWHERE = ['HubDown', 'HubAbsent', 'HubWorkersMissing', 'HubCallbacksWait', 'HubDuplicatePayments'];

describe('the health of a running hub', () => {
  it('has no findings without metrics', () => {
    expect(troubles()).to.deep.equal([]);
  });

  const cases: readonly (readonly [says: string, samples: readonly Sample[], finding: string])[] = [
    ['workers are missing', workers(3), 'processes warning: 3 of 4 workers respond'],
    [
      'files run out',
      [...workers(4), ['process_open_fds', 3_600], ['process_max_fds', 1_000]],
      'processes failed: 900 of 1000 file descriptors are open',
    ],
    [
      'connections run out',
      [...workers(4), ['hub_http_connections', 36_000]],
      'processes failed: a process has 9000 of 10000 connections',
    ],
    [
      'its clock is ahead',
      [['hub_clock_ahead_seconds', 90]],
      'clock of the hub warning: is 90 s ahead of the clock of the database',
    ],
    [
      'its clock is behind',
      [['hub_clock_ahead_seconds', -90]],
      'clock of the hub warning: is 90 s behind the clock of the database',
    ],
    [
      'memory is high',
      [['process_resident_memory_bytes', 2e9]],
      'processes warning: a process holds 2000 MB',
    ],
    [
      'the database is away',
      [['hub_database_up', 0]],
      'connections to the database failed: the hub cannot reach the database',
    ],
    [
      'the pool is used up',
      [['hub_pg_pool_waiting', 3]],
      'connections to the database warning: 3 requests are waiting for a connection',
    ],
    [
      'Redis is away',
      [['hub_redis_up', 0]],
      'Redis of the hub warning: does not respond: each process counts requests by itself',
    ],
    [
      'Redis refuses writes',
      [
        ['hub_redis_up', 1],
        ['hub_redis_takes_writes', 0],
      ],
      'Redis of the hub warning: refuses writes: each process counts requests by itself',
    ],
    [
      'the log cannot be written',
      [
        ['hub_log_lost_lines_total', 12],
        ['hub_log_writable', 0],
      ],
      'log failed: cannot be written: 12 lines are lost',
    ],
    [
      'lines of the log were lost',
      [
        ['hub_log_lost_lines_total', 12],
        ['hub_log_writable', 1],
      ],
      'log warning: 12 lines were lost since the hub started',
    ],
    [
      'a task is stuck',
      [['hub_task_last_success_timestamp_seconds', now - 400, { task: 'sweep' }]],
      'tasks failed: have not succeeded: sweep for 400 s',
    ],
    [
      'the sweep is late',
      [['hub_sweep_overdue_seconds', 700, { slot: 'a' }]],
      'sweep warning: is 700 s late',
    ],
    [
      'a callback is stray',
      [['hub_callbacks_oldest_stray_seconds', 90]],
      'strays failed: a stray callback has been waiting for 90 s',
    ],
    [
      'an event has no number',
      [['hub_events_unnumbered_age_seconds', 90.2]],
      'events failed: an event has been waiting for its number for 90 s',
    ],
    [
      'deliveries are late',
      [['hub_event_deliveries_overdue_seconds', 400]],
      'events warning: a delivery is 400 s late',
    ],
    [
      'an endpoint fails',
      [
        ['hub_event_endpoints', 4, { state: 'enabled' }],
        ['hub_event_endpoints', 1, { state: 'failing' }],
        ['hub_event_endpoints', 7, { state: 'disabled' }],
      ],
      'endpoints warning: 1 of 5 fail',
    ],
    ['mails failed', [['hub_mails_failed', 2]], 'mails warning: 2 failed in the last three days'],
    [
      'a mail waits',
      [['hub_mail_queue_age_seconds', 4_000]],
      'mails warning: the oldest has been waiting for 67 minutes',
    ],
    [
      'partitions are missing',
      [['hub_partition_months_ahead', 0]],
      'partitions warning: the partitions of the next month are missing',
    ],
    [
      'the chain is cut',
      [['hub_audit_head_lost', 1]],
      'audit chain failed: has lost entries that the hub knows',
    ],
    [
      'the chain has lost its key',
      [['hub_audit_chain_stopped', 1]],
      'audit chain failed: cannot continue: its key or its head is missing',
    ],
    [
      'an entry has no link',
      [['hub_audit_oldest_unlinked_seconds', 400.4]],
      'audit chain failed: an entry has been waiting for its link for 400 s',
    ],
    [
      'the chain is behind',
      [['hub_audit_unlinked_entries', 6_000]],
      'audit chain warning: at least 6000 entries are not linked yet',
    ],
    [
      'the certificate expires',
      [['hub_rpc_certificate_expires_timestamp_seconds', now + 3.5 * 86_400]],
      'certificate warning: expires in 3 days',
    ],
    [
      'the certificate has expired',
      [['hub_rpc_certificate_expires_timestamp_seconds', now - 60]],
      'certificate failed: has expired',
    ],
  ];
  for (const [says, samples, finding] of cases) {
    it(`has a finding if ${says}`, () => {
      expect(troubles(...samples)).to.deep.equal([finding]);
    });
  }

  it('has none just below the threshold', () => {
    const well: Sample[] = [
      ...workers(4),
      ['process_open_fds', 800],
      ['process_max_fds', 1_000],
      ['hub_database_up', 1],
      ['hub_redis_up', 1],
      ['hub_redis_takes_writes', 1],
      ['hub_log_writable', 1],
      ['hub_log_lost_lines_total', 0],
      ['hub_task_last_success_timestamp_seconds', now - 200, { task: 'sweep' }],
      ['hub_task_last_success_timestamp_seconds', now - 80_000, { task: 'partitions' }],
      ['hub_sweep_overdue_seconds', 600, { slot: 'a' }],
      ['hub_callbacks_oldest_stray_seconds', 60],
      ['hub_events_unnumbered_age_seconds', 60],
      ['hub_event_deliveries_overdue_seconds', 300],
      ['hub_event_endpoints', 4, { state: 'enabled' }],
      ['hub_event_endpoints', 0, { state: 'failing' }],
      ['hub_event_endpoints', 2, { state: 'disabled' }],
      ['hub_mails_failed', 0],
      ['hub_mail_queue_age_seconds', 3_600],
      ['hub_partition_months_ahead', 1],
      ['hub_audit_unlinked_entries', 5_000],
      ['hub_rpc_certificate_expires_timestamp_seconds', now + 15 * 86_400],
    ];
    expect(troubles(...well)).to.deep.equal([]);
  });

  it('covers every alert on current values', () => {
    const ofAMoment = ALERTS.filter(({ expr }) => !expr.includes('[')).map(({ alert }) => alert);
    expect([...Object.keys(SAYING), ...ELSEWHERE]).to.include.members(ofAMoment);
  });

  for (const [name, saying] of Object.entries(SAYING)) {
    it(`has the same threshold and severity as the alert ${name}`, () => {
      const { expr, labels } = ALERTS.find(({ alert }) => alert === name) as Alert; // else the next line fails
      const [, relation = '', factors = ''] = /(==|<|>) ([\d.e* ]+)$/.exec(expr.trim()) ?? [];
      const bound = factors.split('*').reduce((product, factor) => product * Number(factor), 1);
      const beyond = { '==': bound, '<': bound * 0.99, '>': bound * 1.01 || 1 }[relation] ?? Number.NaN;
      const within = { '==': 1 - bound, '<': bound * 1.01, '>': bound }[relation] ?? Number.NaN;
      expect(troubles(...saying(within))).to.deep.equal([]);
      const [found, ...others] = troubles(...saying(beyond));
      expect(found).to.match(new RegExp(` ${STATES[labels.severity]}: `));
      expect(others).to.deep.equal([]);
    });
  }
});
