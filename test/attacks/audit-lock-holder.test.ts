// An attacker holds the locks that hubs need: the right to connect does not suffice, and an owner is
// detected.
import { randomBytes } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { withRowLocks } from '../../core/payment/callbacks/job-queue.ts';
import { takeBootstrapLock } from '../../core/storage/hub-lock.ts';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { createApp } from '../support/hub/license.ts';
import { asSuperuser, createDatabase, query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

/** Every advisory lock that a hub has ever taken, and those of the queue. */
const ADVISORY = [
  ...[4_715_099, 4_715_102, 4_715_107, 4_715_108],
  ...['', 'create-queue', 'queue-stats', 'job_commonfailJobsByTimeout', 'job_commondeletion'].map(
    (key) =>
      `('x' || encode(sha224((current_database() || '.pgboss.job${key}')::bytea), 'hex'))::bit(64)::bigint`,
  ),
];

describe("a session that holds the hub's locks", () => {
  let databaseUrl: string;
  let hub: TestHub | undefined;
  let holder: pg.Client;
  let strangerRole: string | undefined;

  const connectAs = async (role?: string) => {
    const url = new URL(databaseUrl);
    if (role !== undefined) [url.username, url.password] = [role, 'x'];
    holder = new pg.Client({ connectionString: url.href });
    await holder.connect();
  };
  /** Of a role that may connect, and nothing more. */
  const connectAsStranger = async () => {
    strangerRole = `stranger_${randomBytes(4).toString('hex')}`;
    const database = new URL(databaseUrl).pathname.slice(1);
    await query(
      asSuperuser(databaseUrl),
      `create role ${strangerRole} login password 'x'; grant connect on database ${database} to ${strangerRole}`,
    );
    await connectAs(strangerRole);
  };
  beforeEach(async () => {
    databaseUrl = await createDatabase();
  });
  afterEach(async () => {
    await holder.end();
    await hub?.stop();
    hub = undefined;
    if (strangerRole !== undefined) {
      await query(asSuperuser(databaseUrl), `drop owned by ${strangerRole}; drop role ${strangerRole}`);
    }
    strangerRole = undefined;
  });
  const audit = () => createClient(AuditService, (hub ?? expect.fail('no hub')).transport);

  it('cannot stop a hub from starting, linking and queueing with only the right to connect', async () => {
    const first = await startHub({ settings: { databaseUrl } });
    await connectAsStranger();
    for (const key of ADVISORY) await holder.query(`select pg_advisory_lock(${key})`);
    const refused = await holder
      .query('select from hub_lock for update')
      .catch((error: Error) => error.message);
    expect(refused).to.equal('permission denied for table hub_lock');
    try {
      hub = await startHub({ beside: first });
      await createApp(hub.admin);
      const { ok, unlinked } = await audit().verifyAuditLog({});
      expect({ ok, unlinked }).to.deep.equal({ ok: true, unlinked: 0n });
    } finally {
      await hub?.stop();
      hub = undefined;
      await first.stop();
    }
  });

  it('is named to waiting hubs if the lock table does not exist yet', async () => {
    await connectAsStranger();
    await holder.query('select pg_advisory_lock(4715099)');
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query('begin');
    const waited = await takeBootstrapLock((statement) => client.query(statement), 'schema', 200).catch(
      (error: Error) => error.message,
    );
    const { processID: waitingPid } = client as unknown as { processID: number }; // missing from the types
    await client.end();
    expect(waited).to.contain('another session holds the advisory lock 4715099 (schema)');
    const [, search = ''] = /To find it: (select .*)$/.exec(String(waited)) ?? [];
    // PostgreSQL shows the program and the address to superusers and members of pg_read_all_stats only.
    const found = await query<{ pid: number; usename: string }>(databaseUrl, search);
    // The server may take a moment to end the session of the client.
    const holders = found.filter(({ pid }) => pid !== waitingPid);
    expect(holders.map(({ pid, usename }) => ({ pid, usename }))).to.deep.equal([
      { pid: (holder as unknown as { processID: number }).processID, usename: strangerRole }, // missing from the types
    ]);
  });

  it('is detected if it owns the schema and delays the links of entries', async () => {
    let now = new Date();
    hub = await startHub({ settings: { databaseUrl }, clock: () => now });
    await createApp(hub.admin);
    expect((await audit().verifyAuditLog({})).ok).to.equal(true);
    await connectAs();
    await holder.query(`begin; select from hub_lock where name = 'audit_chain' for update`);
    const written = now;
    await createApp(hub.admin);
    now = new Date(now.getTime() + 6 * 60_000);
    const { ok, broken, unlinked, unlinkedSince } = await audit().verifyAuditLog({});
    expect({ ok, unlinked, problem: broken?.problem }).to.deep.equal({
      ok: false,
      unlinked: 1n,
      problem: 'entries_unlinked',
    });
    expect(Number(unlinkedSince?.seconds)).to.equal(Math.floor(written.getTime() / 1000));
    const { families } = await createClient(MetricsService, hub.transport).readMetrics({});
    expect(families.map(({ name }) => name)).to.include('hub_audit_oldest_unlinked_seconds');
    await holder.query('rollback');
    await until(async () => (await audit().verifyAuditLog({})).ok, 'the entry is linked');
  });

  it('cannot block the queue: its statements have no advisory locks', () => {
    const statements = `BEGIN; SELECT pg_advisory_xact_lock(('x' || encode(sha224((current_database() || '.pgboss.job')::bytea), 'hex'))::bit(64)::bigint);\nSELECT 1; COMMIT;`;
    expect(withRowLocks(statements)).to.equal(
      `BEGIN; SELECT name FROM hub_lock WHERE name = 'job_queue' FOR UPDATE;\nSELECT 1; COMMIT;`,
    );
    expect(withRowLocks('lock AS (SELECT pg_try_advisory_xact_lock((1)::bigint) AS got), x')).to.equal(
      `lock AS (SELECT (SELECT true FROM hub_lock WHERE name = 'job_stats' FOR UPDATE SKIP LOCKED) AS got), x`,
    );
  });
});
