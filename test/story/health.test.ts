// What is made of what a running hub says of itself.
import { create } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { MetricFamilySchema } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { healthOf } from '../../story/health.ts';
import { createReading } from '../../story/metric-reading.ts';

type Sample = readonly [name: string, value: number, labels?: Record<string, string>];

/** What is not well, of a hub that says this. */
function troubles(...samples: readonly Sample[]) {
  const family = create(MetricFamilySchema, {
    samples: samples.map(([name, value, labels = {}]) => ({ name, labels, value })),
  });
  const findings = healthOf(createReading([family], 0)).filter(({ state }) => state !== 'ok');
  for (const finding of findings)
    expect(finding, finding.check).to.have.property('remedy').with.length.above(5);
  return findings.map(({ check, state, detail }) => `${check} ${state}: ${detail}`);
}

const now = Date.now() / 1000;
const workers = (answering: number): Sample[] => [
  ['hub_workers', 4, { state: 'wanted' }],
  ['hub_workers', answering, { state: 'answering' }],
];

describe('the health of a running hub', () => {
  it('is nothing, if the hub says nothing', () => {
    expect(troubles()).to.deep.equal([]);
  });

  const cases: readonly (readonly [says: string, samples: readonly Sample[], finding: string])[] = [
    ['workers are missing', workers(3), 'processes warning: 3 of 4 workers answer'],
    [
      'files run out',
      [...workers(4), ['process_open_fds', 3_600], ['process_max_fds', 1_000]],
      'processes warning: 900 of 1000 file descriptors are open',
    ],
    [
      'memory is high',
      [['process_resident_memory_bytes', 2e9]],
      'processes warning: a process holds 2000 MB',
    ],
    [
      'the database is away',
      [['hub_database_up', 0]],
      'connections to the database failed: the database does not answer the hub',
    ],
    [
      'the pool is used up',
      [['hub_pg_pool_waiting', 3]],
      'connections to the database warning: 3 requests wait for one',
    ],
    [
      'Redis is away',
      [['hub_redis_up', 0]],
      'Redis of the hub warning: it does not answer: each process counts requests by itself',
    ],
    [
      'a task is stuck',
      [['hub_task_last_success_timestamp_seconds', now - 400, { task: 'sweep' }]],
      'tasks failed: have not gone well: sweep for 400 s',
    ],
    [
      'the sweep is late',
      [['hub_sweep_overdue_seconds', 700, { slot: 'a' }]],
      'sweep warning: is 700 s late',
    ],
    [
      'a callback is stray',
      [['hub_callbacks_oldest_stray_seconds', 90]],
      'strays failed: a callback has been left lying for 90 s',
    ],
    [
      'partitions are missing',
      [['hub_partition_months_ahead', 0]],
      'partitions warning: there are none for the next month',
    ],
    [
      'the chain is cut',
      [['hub_audit_head_lost', 1]],
      'audit chain failed: has lost entries that the hub has seen',
    ],
    [
      'the chain is behind',
      [['hub_audit_unlinked_entries', 6_000]],
      'audit chain warning: 6000 entries or more are not linked yet',
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
    it(`is a finding if ${says}`, () => {
      expect(troubles(...samples)).to.deep.equal([finding]);
    });
  }

  it('is nothing a step before', () => {
    const well: Sample[] = [
      ...workers(4),
      ['process_open_fds', 800],
      ['process_max_fds', 1_000],
      ['hub_database_up', 1],
      ['hub_redis_up', 1],
      ['hub_task_last_success_timestamp_seconds', now - 200, { task: 'sweep' }],
      ['hub_task_last_success_timestamp_seconds', now - 80_000, { task: 'partitions' }],
      ['hub_sweep_overdue_seconds', 600, { slot: 'a' }],
      ['hub_callbacks_oldest_stray_seconds', 60],
      ['hub_partition_months_ahead', 1],
      ['hub_audit_unlinked_entries', 5_000],
      ['hub_rpc_certificate_expires_timestamp_seconds', now + 15 * 86_400],
    ];
    expect(troubles(...well)).to.deep.equal([]);
  });
});
