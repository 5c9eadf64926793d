// The owner of the schema, without a master key, removes entries and makes hubs create a new chain over the
// rest.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { createApp } from '../support/hub/license.ts';
import { asSuperuser, createDatabase, query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const APPEND_ONLY = ['audit_entry', 'audit_link', 'audit_anchor'];
const QUEUE_THE_REST = 'insert into audit_unlinked select id from audit_entry on conflict do nothing';

describe('an audit log rewritten by the owner of the schema', () => {
  const masterKey = randomBytes(32).toString('base64');
  let databaseUrl: string;
  let directory: string;
  let hub: TestHub | undefined;
  let log: string[];

  beforeEach(async () => {
    databaseUrl = await createDatabase();
    directory = await mkdtemp(join(tmpdir(), 'hub-test-'));
    log = [];
  });
  afterEach(async () => {
    await hub?.stop();
    await rm(directory, { recursive: true });
  });

  /** Each time with a fresh data directory; a setting says where the hub saves the head. */
  const start = async (auditHeadFile?: string): Promise<TestHub> => {
    const write = (line: string) => log.push(line);
    const settings = { databaseUrl, masterKey, auditHeadFile };
    hub = await startHub({ settings, log: { write } });
    return hub;
  };
  const audit = () => createClient(AuditService, (hub ?? expect.fail('no hub')).transport);
  /** A log of three entries, by a hub that is stopped by then. Returns the head. */
  const recordThree = async (auditHeadFile?: string): Promise<string> => {
    const { admin, stop } = await start(auditHeadFile);
    for (let count = 0; count < 3; count++) await createApp(admin);
    const { head, ok } = await audit().verifyAuditLog({});
    expect(ok).to.equal(true);
    await stop();
    hub = undefined;
    return head;
  };
  const rewrite = (...statements: string[]) => {
    const off = APPEND_ONLY.map((table) => `alter table ${table} disable trigger all`);
    const on = APPEND_ONLY.map((table) => `alter table ${table} enable trigger all`);
    return query(asSuperuser(databaseUrl), [...off, ...statements, ...on].join('; '));
  };
  const removeFirst = 'delete from audit_entry where id = (select min(id::text)::uuid from audit_entry)';
  const gauge = async (name: string) => {
    const transport = (hub ?? expect.fail('no hub')).transport;
    const { families } = await createClient(MetricsService, transport).readMetrics({});
    return families.find((family) => family.name === name)?.samples[0]?.value;
  };

  it('gets no new chain: the hub serves, links nothing and reports it', async () => {
    const savedHead = await recordThree();
    await rewrite(
      'delete from audit_link; delete from audit_head; delete from audit_key',
      removeFirst,
      QUEUE_THE_REST,
    );
    const { admin } = await start();
    await createApp(admin);
    const verified = await audit().verifyAuditLog({});
    expect(verified.ok).to.equal(false);
    expect(verified.broken).to.include({ problem: 'key_missing' });
    // Two that were left, the admin token of this hub, and the app.
    expect(verified.unlinked).to.equal(4n);
    expect(await query(databaseUrl, 'select from audit_link')).to.have.length(0);
    await until(() => log.some((line) => line.includes('audit entries are not linked')), 'the log says so');
    expect(await gauge('hub_audit_chain_stopped')).to.equal(1);

    // The remedy is logged, and does not validate heads saved elsewhere.
    await audit().beginAuditChain({ reason: 'somebody has rewritten the log' });
    const begun = await audit().verifyAuditLog({});
    expect(begun).to.deep.include({ ok: true, unlinked: 0n, entries: 5n });
    const [entry] = (await audit().listAuditEntries({ action: 'audit.begin_chain' })).entries;
    expect(entry?.detail).to.deep.equal({ reason: 'somebody has rewritten the log' });
    expect(entry?.before).to.include({ problem: 'key_missing' });
    expect((await audit().verifyAuditLog({ head: savedHead })).ok).to.equal(false);
    await until(async () => (await gauge('hub_audit_chain_stopped')) === 0, 'the gauge falls again');
  });

  it('is not linked again with the old key', async () => {
    await recordThree();
    await rewrite('delete from audit_link; delete from audit_head', removeFirst, QUEUE_THE_REST);
    await start();
    const { ok, broken } = await audit().verifyAuditLog({});
    expect(ok).to.equal(false);
    expect(broken).to.include({ problem: 'head_altered' });
    expect(await query(databaseUrl, 'select from audit_link')).to.have.length(0);
  });

  it('does not count as new after it is emptied, while the database has recorded objects', async () => {
    await recordThree();
    await rewrite(
      'delete from audit_link; delete from audit_head; delete from audit_key; delete from audit_unlinked',
      'delete from audit_entry',
    );
    const { admin } = await start();
    await createApp(admin);
    const { ok, broken } = await audit().verifyAuditLog({});
    expect(ok).to.equal(false);
    expect(broken).to.include({ problem: 'key_missing' });
  });

  it('does not count as new after it is emptied, if the hub keeps the saved head elsewhere', async () => {
    const file = join(directory, 'head');
    await recordThree(file);
    await rewrite(
      'delete from audit_link; delete from audit_head; delete from audit_key; delete from audit_unlinked',
      'delete from audit_entry',
    );
    const { admin } = await start(file);
    await createApp(admin);
    const { ok, broken } = await audit().verifyAuditLog({});
    expect(ok).to.equal(false);
    expect(broken).to.include({ problem: 'key_missing' });
  });
});
