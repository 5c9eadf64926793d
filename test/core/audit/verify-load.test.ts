// Verification of the audit log uses one connection of a hub at most, and ends with its caller.
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp } from '../../support/hub/license.ts';
import { asSuperuser, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

const POOL = 4;

describe('verifying the audit log', () => {
  let hub: TestHub;
  let audit: ReturnType<typeof createClient<typeof AuditService>>;
  /** Blocks readers of the links. */
  let blocker: pg.Client;

  beforeEach(async () => {
    hub = await startHub({ settings: { databasePool: POOL } });
    audit = createClient(AuditService, hub.transport);
    await createApp(hub.admin);
    expect((await audit.verifyAuditLog({})).ok).to.equal(true);
    blocker = new pg.Client({ connectionString: asSuperuser(hub.databaseUrl) });
    await blocker.connect();
    await blocker.query('begin; lock table audit_link in access exclusive mode');
  });
  afterEach(async () => {
    await blocker.end();
    await hub.stop();
  });

  const readersWaiting = async (): Promise<number> => {
    const waiting = await query(
      hub.databaseUrl,
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query like '%audit_link%'`,
    );
    return waiting.length;
  };
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'verified',
      (error) => Code[ConnectError.from(error).code],
    );

  it('runs for one caller at a time, and leaves the rest of the pool to others', async () => {
    const first = codeOf(audit.verifyAuditLog({}));
    await until(async () => (await readersWaiting()) === 1, 'the first one reads');
    const others = Array.from({ length: 3 * POOL }, () => codeOf(audit.verifyAuditLog({})));
    expect(new Set(await Promise.all(others))).to.deep.equal(new Set(['ResourceExhausted']));
    expect((await hub.admin.listApps({})).apps).to.have.length(1);
    expect(await readersWaiting()).to.equal(1);
    await blocker.query('rollback');
    expect(await first).to.equal('verified');
    expect(await codeOf(audit.verifyAuditLog({}))).to.equal('verified');
  });

  it('uses one connection for all callers that export the log and wait for links', async () => {
    await blocker.query(`rollback; begin; select from hub_lock where name = 'audit_chain' for update`);
    const exports = Array.from({ length: 3 * POOL }, async () => {
      let entries = 0;
      for await (const part of audit.exportAuditLog({})) entries += part.entries.length;
      return entries;
    });
    await createApp(hub.admin);
    expect((await hub.admin.listApps({})).apps).to.have.length(2);
    await blocker.query('rollback');
    expect(new Set(await Promise.all(exports))).to.deep.equal(new Set([2]));
  });

  it('stops when the caller disconnects', async () => {
    const hangUp = new AbortController();
    const left = codeOf(audit.verifyAuditLog({}, { signal: hangUp.signal }));
    await until(async () => (await readersWaiting()) === 1, 'it reads');
    hangUp.abort();
    expect(await left).to.equal('Canceled');
    await blocker.query('rollback');
    await until(async () => (await codeOf(audit.verifyAuditLog({}))) === 'verified', 'another one is let in');
  });
});
