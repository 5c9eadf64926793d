// The hub while its database is away, and after.
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../../../../gen/hub/access/v1/access_service_pb.ts';
import { LicenseService } from '../../../../gen/hub/license/v1/license_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../../../support/hub/license.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/network/tcp-proxy.ts';
import { createMigratedDatabase, query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('an outage of the database', () => {
  let databaseUrl: string;
  let proxy: TcpProxy;
  let hub: TestHub;
  let license: TestLicense;
  let log: string[];

  beforeEach(async () => {
    databaseUrl = await createMigratedDatabase();
    proxy = await startTcpProxy(databaseUrl);
    log = [];
    hub = await startHub({ settings: { databaseUrl: proxy.url }, log: { write: (line) => log.push(line) } });
    license = await issueLicense(hub.admin);
    await Promise.all(Object.values(calls).map((call) => call()));
  });
  afterEach(async () => {
    await hub.stop();
    await proxy.down();
  });

  /** One call of each kind: through the ORM, through the batches of the hot paths, through authentication alone. */
  const calls: Record<string, () => Promise<unknown>> = {
    listApps: () => hub.admin.listApps({}),
    createApp: () => hub.admin.createApp({ slug: `app-${process.hrtime.bigint()}` }),
    activate: () => licenses().activate({ licenseKey: license.licenseKey, machineFingerprint: 'machine-1' }),
    checkStatus: () => licenses().checkStatus({ licenseId: license.licenseId }),
    getCaller: () => createClient(AccessService, hub.transport).getCaller({}),
  };
  const licenses = () => createClient(LicenseService, hub.transport);
  const health = async () => (await createClient(Health, hub.transport).check({})).status;

  it('is reported to HTTP probes of the RPC port without a token, and without log lines', async () => {
    const probe = async (path: string, method = 'GET') => {
      const { status, headers } = await fetch(`${hub.rpcUrl}${path}`, { method });
      return [status, headers.get('retry-after')];
    };
    log.length = 0;
    expect(await probe('/healthz')).to.deep.equal([200, null]);
    expect(await probe('/readyz')).to.deep.equal([200, null]);
    expect(await probe('/readyz', 'HEAD')).to.deep.equal([200, null]);
    expect(log.filter((line) => line.includes('rpc'))).to.deep.equal([]);
    expect(await probe('/readyz', 'POST')).to.deep.equal([404, null]);
    await proxy.down();
    // Cached results are reported for half a second.
    await until(async () => (await probe('/readyz'))[0] === 503, 'the RPC port is not ready');
    expect(await probe('/readyz')).to.deep.equal([503, '5']);
    expect(await probe('/healthz')).to.deep.equal([200, null]);
    await proxy.up();
    await until(async () => (await probe('/readyz'))[0] === 200, 'the RPC port is ready again');
  });

  it('makes every call Unavailable and the health NOT_SERVING, and ends without a restart', async () => {
    await proxy.down();
    for (const [name, call] of Object.entries(calls)) {
      expect(await outcome(call()), name).to.equal(Code.Unavailable);
    }
    expect(await health()).to.equal(ServingStatus.NOT_SERVING);
    expect(await restStatus()).to.equal(503);
    expect(log.filter((line) => line.includes('unforeseen'))).to.deep.equal([]);

    await proxy.up();
    await until(async () => (await health()) === ServingStatus.SERVING, 'the hub serves again');
    for (const [name, call] of Object.entries(calls)) expect(await outcome(call()), name).to.equal('ok');
    expect(await restStatus()).to.equal(200);
  });

  it('that only closes the connections affects only current calls', async () => {
    await query(
      databaseUrl,
      // Without the workers of autovacuum, which only a superuser may end.
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    for (const [name, call] of Object.entries(calls)) {
      expect(await outcome(call()), name).to.be.oneOf(['ok', Code.Unavailable]);
    }
    for (const [name, call] of Object.entries(calls)) expect(await outcome(call()), name).to.equal('ok');
    expect(log.filter((line) => line.includes('unforeseen'))).to.deep.equal([]);
  });

  it('during a call makes it Unavailable', async () => {
    const pending = Array.from({ length: 40 }, () => outcome(hub.admin.listApps({})));
    await proxy.down();
    expect(await Promise.all(pending)).to.satisfy((outcomes: unknown[]) =>
      outcomes.every((each) => each === 'ok' || each === Code.Unavailable),
    );
    expect(log.filter((line) => line.includes('unforeseen'))).to.deep.equal([]);
  });

  it('that leaves the database read-only makes every call Unavailable, including reads', async () => {
    const { pathname } = new URL(databaseUrl);
    const name = pathname.slice(1);
    await query(databaseUrl, `alter database ${name} set default_transaction_read_only = on`);
    await proxy.down();
    await proxy.up();
    for (const [called, call] of Object.entries(calls)) {
      expect(await outcome(call()), called).to.equal(Code.Unavailable);
    }
    expect(await health()).to.equal(ServingStatus.NOT_SERVING);
    expect(await restStatus()).to.equal(503);
    expect(log.filter((line) => line.includes('unforeseen'))).to.deep.equal([]);

    const back = `begin read write; alter database ${name} reset default_transaction_read_only; commit`;
    await query(databaseUrl, back);
    await until(async () => (await health()) === ServingStatus.SERVING, 'the hub serves again');
    for (const [called, call] of Object.entries(calls)) expect(await outcome(call()), called).to.equal('ok');
  });

  async function restStatus(): Promise<number> {
    return (await fetch(`${hub.gatewayUrl}/v1/status/${license.licenseId}`)).status;
  }
});

describe('a database without a table', () => {
  it('makes the call Internal, and the log has the reason by the request id', async () => {
    const log: string[] = [];
    const hub = await startHub({ log: { write: (line) => log.push(line) } });
    try {
      await query(hub.databaseUrl, 'alter table limit_profile rename to elsewhere');
      const { app } = await hub.admin.createApp({ slug: 'demo' });
      const failure = await hub.admin.listLimitProfiles({ app: app?.slug ?? '' }).catch(ConnectError.from);
      if (!(failure instanceof ConnectError)) throw new Error('the call did not fail');
      expect(failure).to.include({ code: Code.Internal, rawMessage: 'internal error' });
      const requestId = failure.metadata.get('x-request-id');
      const errors = log.map((line) => JSON.parse(line)).filter(({ err }) => err !== undefined);
      expect(errors).to.have.length(1);
      expect(errors[0]).to.include({ requestId, rpc: 'ListLimitProfiles' });
      expect(errors[0].err.message).to.include('limit_profile');
    } finally {
      await hub.stop();
    }
  });
});

async function outcome(call: Promise<unknown>): Promise<'ok' | Code> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    return ConnectError.from(error).code;
  }
}
