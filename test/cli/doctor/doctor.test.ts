// hubctl doctor: a healthy hub, and each single thing that can be wrong with one.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { runChecks } from '../../../cli/doctor/checks.ts';
import { loadCommands } from '../../../cli/load-commands.ts';
import { createProgram } from '../../../cli/program.ts';
import type { CheckResult } from '../../../cli/views/operations/check-result.ts';
import { formatId, newUuid } from '../../../core/ids.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import { requireRedis } from '../../support/redis/redis.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { hubctlHere } from '../run-here.ts';

/** The hub under test shares the process of mocha, whose memory grows from file to file. */
function checkAndState({ check, state, detail }: CheckResult): string {
  return `${check}: ${/^a process holds \d+ MB$/.test(detail) ? 'ok' : state}`;
}

const NOWHERE = 'http://127.0.0.1:1';
const OF_A_RUNNING_HUB = [
  'processes: ok',
  'connections to the database: ok',
  'Redis of the hub: ok',
  'log: ok',
  'tasks: ok',
  'sweep: ok',
  'held payments: ok',
  'orders: ok',
  'fees: ok',
  'refunds: ok',
  'mails: ok',
  'strays: ok',
  'events: ok',
  'endpoints: ok',
  'partitions: ok',
  'audit chain: ok',
  'clock of the hub: ok',
  'certificate: ok',
];

describe('hubctl doctor', () => {
  let hub: TestHub;
  let scratch: string;
  let receiver: WebhookReceiver | undefined;
  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'hub-test-'));
    hub = await startHub({ settings: { eventAllowNetworks: ['127.0.0.0/8'] } });
    await createApp(hub.admin); // with a signing key
    await createClient(PaymentAdminService, hub.transport).addSlot({
      name: 'main',
      gateway: 'gateway_one',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: NOWHERE,
      credentials: { storeId: 'store', storePassword: 'password' },
    });
  });
  after(async () => {
    await receiver?.close();
    await hub?.stop();
    await rm(scratch, { recursive: true, force: true });
  });

  /** What it finds with the settings of the hub, but for these. */
  async function look(
    environment: Record<string, string> = {},
    options: { dataDir?: string; server?: string; token?: string } = {},
  ): Promise<CheckResult[]> {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
    const { program, commandContext } = createProgram(streams, await loadCommands());
    for (const [name, value] of Object.entries({ dataDir: hub.dataDir, ...options })) {
      program.setOptionValueWithSource(name, value, 'cli');
    }
    const findings = await runChecks({}, { DATABASE_URL: hub.databaseUrl, ...environment }, commandContext);
    expectPrinted('doctor', findings);
    return findings;
  }

  /** The names of the failed checks, each of which must have a remedy. */
  function failures(findings: readonly CheckResult[]): string[] {
    const failed = findings.filter(({ state }) => state === 'failed');
    for (const { check, detail, remedy } of failed) {
      expect(detail, check).to.have.length.above(5);
      expect(remedy, check).to.have.length.above(5);
    }
    return failed.map(({ check }) => check);
  }

  const only = (findings: readonly CheckResult[], check: string): CheckResult => {
    const [found, ...more] = findings.filter((finding) => finding.check === check);
    if (found === undefined || more.length > 0) throw new Error(`${more.length} findings on ${check}`);
    return found;
  };

  it('reports a healthy hub, as text and as JSON, and exits with 0', async () => {
    const env = { DATABASE_URL: hub.databaseUrl, HUB_DATA_DIR: hub.dataDir };
    const [words, json] = await Promise.all([
      hubctlHere(['doctor'], env),
      hubctlHere(['doctor', '--output', 'json'], env),
    ]);
    expect(words).to.include({ code: 0, stderr: '' });
    expect(words.stdout).to.match(/^signing keys +ok +all 1 can be decrypted$/m);
    expect(json).to.include({ code: 0, stderr: '' });
    const findings: CheckResult[] = JSON.parse(json.stdout);
    expect(findings.map(checkAndState)).to.deep.equal([
      'Node.js: ok',
      'configuration: ok',
      'data directory: ok',
      'master key: ok',
      'database: ok',
      'database clock: ok',
      'schema: ok',
      'signing keys: ok',
      'key secrets: ok',
      'credentials: ok',
      'endpoint secrets: ok',
      'audit log: ok',
      'callbacks: ok',
      'duplicate payments: ok',
      'disabled endpoints: ok',
      'backlog: ok',
      'Redis: skipped',
      'hub: ok',
      ...OF_A_RUNNING_HUB,
    ]);
  });

  it('exits with 1 and a remedy for each failed check', async () => {
    const env = { DATABASE_URL: 'postgres://hub:correct-horse@127.0.0.1:1/hub', HUB_DATA_DIR: hub.dataDir };
    const [words, json] = await Promise.all([
      hubctlHere(['doctor'], env),
      hubctlHere(['doctor', '--output', 'json'], env),
    ]);
    expect(words).to.include({ code: 1, stderr: 'hubctl: 1 of 25 checks failed.\n' });
    expect(words.stdout).to.match(/^database +failed .*ECONNREFUSED.*Remedy: start it/m);
    expect(json.code).to.equal(1);
    expect(JSON.parse(json.stderr).error.code).to.equal('unhealthy');
    expect(failures(JSON.parse(json.stdout))).to.deep.equal(['database']);
    expect(words.stdout + json.stdout).not.to.contain('correct-horse');
  });

  it('reports each wrong setting, and checks nothing else', async () => {
    const findings = await look({ HUB_PORT: 'x', HUB_LOG_LEVEL: 'loud' });
    expect(failures(findings)).to.deep.equal(['configuration', 'configuration']);
    expect(findings.map(({ detail }) => detail.split(':')[0])).to.include.members([
      'HUB_PORT',
      'HUB_LOG_LEVEL',
    ]);
  });

  it('reports a master key file that is missing or open to others', async () => {
    const file = join(scratch, 'keys');
    const missing = await look({ HUB_MASTER_KEY_FILE: file });
    expect(failures(missing)).to.deep.equal(['master key']);
    expect(only(missing, 'master key').detail).to.equal(`there is no file ${file}`);
    await copyFile(join(hub.dataDir, 'master.key'), file);
    await chmod(file, 0o644);
    const open = await look({ HUB_MASTER_KEY_FILE: file });
    expect(failures(open)).to.deep.equal(['master key']);
    expect(only(open, 'master key').detail).to.contain('open to other users');
    expect(only(open, 'signing keys').state).to.equal('skipped');
  });

  it('reports a master key of another database', async () => {
    const key = randomBytes(32).toString('base64');
    const findings = await look({ HUB_MASTER_KEY: key });
    expect(failures(findings)).to.deep.equal([
      'signing keys',
      'key secrets',
      'credentials',
      'endpoint secrets',
    ]);
    expect(JSON.stringify(findings)).not.to.contain(key);
    const none = await look({}, { dataDir: scratch, server: hub.rpcUrl, token: hub.token });
    expect(failures(none)).to.deep.equal(['signing keys', 'credentials']);
    expect(only(none, 'signing keys').detail).to.contain('there is no master key');
  });

  it('reports credentials that cannot be decrypted, separately from the keys of the apps', async () => {
    const flip =
      'update slot set sealed_credentials = set_byte(sealed_credentials, 40, get_byte(sealed_credentials, 40) # 1)';
    await query(hub.databaseUrl, flip);
    const findings = await look();
    await query(hub.databaseUrl, flip);
    expect(failures(findings)).to.deep.equal(['credentials']);
  });

  it('reports an audit log whose key or head is missing, and unlinked entries', async () => {
    for (const [table, row] of [
      ['audit_key', 'id, sealed_key, created_at'],
      ['audit_head', 'id, seq, hash, mac, key_id'],
    ] as const) {
      await query(hub.databaseUrl, `create table kept as table ${table}; delete from ${table}`);
      const findings = await look();
      await query(hub.databaseUrl, `insert into ${table} (${row}) select ${row} from kept; drop table kept`);
      expect(only(findings, 'audit log')).to.deep.include({ state: 'failed' });
      expect(only(findings, 'audit log').detail).to.contain(`(${table})`);
    }
    const unlinked = async () => (await query(hub.databaseUrl, 'select from audit_unlinked')).length;
    await until(async () => (await unlinked()) === 0, 'the entries before this test are linked');
    const holder = new pg.Client({ connectionString: hub.databaseUrl });
    await holder.connect();
    await holder.query(`begin; select from hub_lock where name = 'audit_chain' for update`);
    await query(
      hub.databaseUrl,
      `insert into audit_entry (id, at, actor, action, subject, detail)
       values (gen_random_uuid(), now() - interval '6 minutes', 'Ada', 'app.create', 'x', '{}')`,
    );
    const { state, detail } = only(await look(), 'audit log');
    await holder.end();
    expect(state).to.equal('warning');
    expect(detail).to.match(/^1 entry waits for a link, the oldest for 36\d s$/);
    await until(
      async () => {
        const found = await look();
        // The audit log is read at once, the audit chain from metrics that may be two seconds old.
        return ['audit log', 'audit chain'].every((check) => only(found, check).state === 'ok');
      },
      'the hub has linked it',
      30_000,
    );
  });

  it('warns of callbacks given up for unpaid sessions', async () => {
    // A paid session, after its usage entry was pruned.
    await query(
      hub.databaseUrl,
      `with session as (
         insert into charge_session (id, slot_id, status, status_reason, status_changed_at, amount_minor, currency,
           order_reference, customer, metadata, merchant_transaction_id, created_at, checks, gateway_transaction_id)
         select gen_random_uuid(), id, 'success', '', now(), 10000, 'BDT', '', '{}', '{}', 'PRUNED', now(), 0, 'V1'
         from slot where name = 'main' returning id
       )
       insert into callback (id, gateway, fields, received_at, state, reason, attempts, session_id)
       select gen_random_uuid(), 'gateway_one', '{}', now(), 'dead', '', 30, id from session`,
    );
    expect(only(await look(), 'callbacks').state).to.equal('ok');
    await query(
      hub.databaseUrl,
      `insert into callback (id, gateway, fields, received_at, state, reason, attempts)
       values (partition_floor(date_trunc('month', now())::date), 'gateway_one', '{}', now(), 'dead', '', 30)`,
    );
    const { state, detail, remedy } = only(await look(), 'callbacks');
    expect({ state, detail }).to.deep.equal({
      state: 'warning',
      detail: '1 was given up, of sessions that are not paid',
    });
    expect(remedy).to.contain('hubctl callback replay');
  });

  it('warns of unhandled duplicate payments', async () => {
    const id = `(select id from slot where name = 'main')`;
    await query(
      hub.databaseUrl,
      `with session as (
         insert into charge_session (id, slot_id, status, status_reason, status_changed_at, amount_minor, currency,
           order_reference, customer, metadata, merchant_transaction_id, created_at, checks)
         values (gen_random_uuid(), ${id}, 'success', '', now(), 10000, 'BDT', '', '{}', '{}', 'TWICE', now(), 0)
         returning id, slot_id
       )
       insert into duplicate_payment (id, session_id, slot_id, gateway, gateway_transaction_id, provider_payment_id,
         amount_minor, currency, found_at, resolution)
       select gen_random_uuid(), id, slot_id, 'gateway_one', 'V2', '', 10000, 'BDT', now(), '' from session`,
    );
    const { state, detail, remedy } = only(await look(), 'duplicate payments');
    expect({ state, detail }).to.deep.equal({
      state: 'warning',
      detail: '1 is open: the session was paid by another payment',
    });
    expect(remedy).to.contain('hubctl session resolve-duplicate');
    await query(hub.databaseUrl, 'update duplicate_payment set resolved_at = now()');
    expect(only(await look(), 'duplicate payments').state).to.equal('ok');
  });

  it('warns of endpoints that fail and of those that the hub has disabled', async () => {
    receiver = await startWebhookReceiver();
    const { url } = receiver;
    const events = createClient(EventService, hub.transport);
    const settings = { url, events: ['license.*'] };
    const endpointIds: string[] = [];
    for (let count = 0; count < 2; count++) {
      const { endpoint } = await events.createEndpoint({ settings });
      endpointIds.push(endpoint?.endpointId ?? '');
    }
    const [byOperator = '', byHub = ''] = endpointIds;
    await events.disableEndpoint({ endpointId: byOperator, reason: 'the shop moves' });
    expect(only(await look(), 'disabled endpoints').state).to.equal('ok');

    receiver.answer = () => 500;
    await issueLicense(hub.admin);
    await until(
      async () => only(await look(), 'endpoints').detail === '1 of 1 fail',
      'the endpoint fails',
      30_000,
    );
    receiver.answer = () => 410;
    const { events: found } = await events.listEvents({ types: ['license.issued'], pageSize: 1 });
    await events.replayEvent({ eventId: found[0]?.eventId ?? '', endpointId: byHub });
    await until(async () => only(await look(), 'disabled endpoints').state === 'warning', 'it is disabled');
    const { detail, remedy } = only(await look(), 'disabled endpoints');
    expect(detail).to.equal(`the hub disabled ${byHub}, because deliveries failed`);
    expect(remedy).to.contain('hubctl endpoint enable');
    // An endpoint that was disabled in a month of the audit log that was pruned.
    const oldId = newUuid();
    await query(
      hub.databaseUrl,
      `insert into event_endpoint (id, url, event_types, created_at, disabled_at, disabled_reason)
       values ($1, 'http://127.0.0.1:1/', '{}', now(), now(), 'gone')`,
      [oldId],
    );
    const byUnknown = formatId('whe', oldId);
    expect(only(await look(), 'disabled endpoints').detail).to.equal(
      `the hub disabled ${byHub}, because deliveries failed; ` +
        `the audit log no longer says who disabled ${byUnknown}`,
    );
    await events.removeEndpoint({ endpointId: byHub });
    expect(only(await look(), 'disabled endpoints')).to.deep.include({
      state: 'warning',
      detail: `the audit log no longer says who disabled ${byUnknown}`,
      remedy,
    });
    for (const endpointId of [byOperator, byUnknown]) await events.removeEndpoint({ endpointId });
    expect(only(await look(), 'disabled endpoints').state).to.equal('ok');
    // The hub caches its metrics for some seconds.
    await until(async () => only(await look(), 'endpoints').state === 'ok', 'none fails', 30_000);
  });

  it('reports how many callbacks wait and for how long, and warns if it is too long', async () => {
    const wait = (ago: string) =>
      query(
        hub.databaseUrl,
        `insert into callback (id, gateway, fields, received_at, state, reason, attempts)
         select id, 'gateway_one', '{}', now() - interval '${ago}', 'received', '', 1
         from (select gen_random_uuid() as id) made`,
      );
    expect(only(await look(), 'backlog').detail).to.equal('nothing waits');
    // The hub handles a stray callback within seconds, perhaps before the doctor looks.
    await until(async () => {
      await wait('2 hours');
      const { state, detail } = only(await look(), 'backlog');
      if (state === 'warning')
        expect(detail).to.match(/^1 callback waits, the oldest for 72\d\d s; \d+ jobs$/);
      return state === 'warning';
    }, 'the doctor warns');
    await query(hub.databaseUrl, `delete from callback where state = 'received'`);
    // The hub may have counted it already, and reports cached counts for some seconds.
    await until(async () => only(await look(), 'strays').state === 'ok', 'the hub has counted again', 30_000);
  });

  it('reports a secret in the data directory that other users can read', async () => {
    const file = join(hub.dataDir, 'admin-token');
    await chmod(file, 0o644);
    const findings = await look();
    await chmod(file, 0o600);
    expect(failures(findings)).to.deep.equal(['data directory']);
    expect(only(findings, 'data directory').remedy).to.equal(`chmod 600 ${file}`);
  });

  it('warns of pending migrations without failing, and creates nothing', async () => {
    const DATABASE_URL = await createDatabase();
    const findings = await look({ DATABASE_URL });
    expect(failures(findings)).to.deep.equal([]);
    expect(only(findings, 'schema')).to.include({
      state: 'warning',
      remedy: 'hubctl migration apply, or start the hub',
    });
    expect(await query(DATABASE_URL, `select from pg_tables where schemaname = 'public'`)).to.deep.equal([]);
  });

  it('reports whether Redis answers', async function () {
    const away = await look({ REDIS_URL: 'redis://:correct-horse@127.0.0.1:1' });
    expect(failures(away)).to.deep.equal(['Redis']);
    expect(JSON.stringify(away)).not.to.contain('correct-horse');
    const well = await look({ REDIS_URL: await requireRedis(this) });
    expect(only(well, 'Redis').state).to.equal('ok');
  });

  it('reports a token that the hub does not accept', async () => {
    const findings = await look({}, { token: 'hub_of-another-hub' });
    expect(failures(findings)).to.deep.equal(['hub']);
    expect(JSON.stringify(findings)).not.to.contain('hub_of-another-hub');
  });

  it('ignores checks of a hub that does not run, but not of the core of a gateway', async () => {
    const stopped = await look({}, { server: NOWHERE, token: hub.token });
    expect(failures(stopped)).to.deep.equal([]);
    expect(only(stopped, 'hub').state).to.equal('warning');
    expect(only(stopped, 'hub').remedy).to.contain('--data-dir');

    const gateway = { HUB_ROLE: 'gateway', HUB_CORE_TOKEN: hub.token };
    const fed = await look({ ...gateway, HUB_CORE_URL: hub.rpcUrl });
    expect(fed.map(checkAndState)).to.deep.equal([
      'Node.js: ok',
      'configuration: ok',
      'Redis: skipped',
      'hub: ok',
      ...OF_A_RUNNING_HUB,
    ]);
    const starved = await look({ ...gateway, HUB_CORE_URL: NOWHERE });
    expect(failures(starved)).to.deep.equal(['hub']);
    expect(only(starved, 'hub').remedy).to.contain('HUB_CORE_URL');
    const refused = await look({ ...gateway, HUB_CORE_URL: hub.rpcUrl, HUB_CORE_TOKEN: 'hub_other' });
    expect(failures(refused)).to.deep.equal(['hub']);
  });

  it('reports a server that is not a hub', async () => {
    const proxy = createServer((_, response) => response.writeHead(502).end()).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo; // it listens on a port
    const findings = await look({}, { server: `http://127.0.0.1:${port}`, token: hub.token });
    proxy.close();
    expect(failures(findings)).to.deep.equal(['hub']);
    expect(only(findings, 'hub').detail).to.contain(`127.0.0.1:${port} is not a hub`);
  });

  it('reports no problems before the first start, and creates nothing', async () => {
    const dataDir = join(scratch, 'not-there');
    const findings = await look({ DATABASE_URL: '' }, { dataDir, server: NOWHERE });
    expect(failures(findings)).to.deep.equal([]);
    expect(existsSync(dataDir)).to.equal(false);
  });
});
