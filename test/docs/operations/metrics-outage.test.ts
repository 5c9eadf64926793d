// The metrics of a hub whose database is away, or stuck: they are needed most then.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { fetchMetrics, type Scrape, scrape } from '../../support/hub/metrics.ts';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { createMigratedDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';

/** How long results of the database are cached. */
const AGE_MS = 2_000;
/** The metrics of the database itself; all others belong to the process. */
const OF_DATABASE = [
  'hub_callbacks_waiting',
  'hub_seats',
  'hub_audit_chain_links',
  'hub_partition_months_ahead',
];

const namesIn = ({ samples }: Scrape) => new Set(samples.map(({ name }) => name));

describe('the metrics of a hub', () => {
  let databaseUrl: string;
  let proxy: TcpProxy;
  let hub: TestHub;
  before(async () => {
    databaseUrl = await createMigratedDatabase();
    proxy = await startTcpProxy(databaseUrl);
    // Of a Redis that is away, too.
    hub = await startHub({
      settings: { databaseUrl: proxy.url, redisUrl: 'redis://127.0.0.1:1', licenseRatePerMinute: 1_000 },
    });
  });
  after(async () => {
    await hub.stop();
    await proxy.down();
  });

  const untilUp = (up: number) =>
    until(async () => (await scrape(hub)).sum('hub_database_up') === up, `hub_database_up is ${up}`, 30_000);

  it('query the database once for concurrent scrapes', async () => {
    await untilUp(1);
    const [before, begun] = [proxy.sent('callback_backlog'), performance.now()];
    await Promise.all(Array.from({ length: 20 }, () => scrape(hub)));
    const looks = 1 + Math.floor((performance.now() - begun) / AGE_MS);
    expect(proxy.sent('callback_backlog') - before).to.be.at.most(looks);
  });

  it('are available while the database is down, for known tokens', async () => {
    expect([...namesIn(await scrape(hub))]).to.include.members(OF_DATABASE);
    const { token } = await createClient(TokenService, hub.transport).createToken({ role: Role.MONITOR });
    await proxy.down();
    await untilUp(0);
    await fetch(`${hub.gatewayUrl}/v1/apps/no-app/public-key`);
    const away = await scrape(hub);
    expect(away.sum('hub_http_requests_total', { status: '503' })).to.equal(1);
    expect([...namesIn(away)].filter((name) => OF_DATABASE.includes(name))).to.deep.equal([]);
    expect([...away.families.keys()]).to.include.members(OF_DATABASE);
    // An unknown token cannot be distinguished from a stranger's.
    const statuses = [];
    for (const unknown of [token, 'hub_nonsense', '']) {
      statuses.push((await fetchMetrics({ rpcUrl: hub.rpcUrl, token: unknown })).status);
    }
    expect(statuses).to.deep.equal([503, 401, 401]);
    await proxy.up();
    await untilUp(1);
    expect((await fetchMetrics({ rpcUrl: hub.rpcUrl, token })).status).to.equal(200);
  });

  it('are available while the database hangs, and use at most one connection', async () => {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query('begin; lock table charge_session in access exclusive mode');
    await untilUp(0);
    const stuck = await Promise.all(Array.from({ length: 5 }, () => scrape(hub)));
    for (const told of stuck) expect(told.sum('hub_database_up')).to.equal(0);
    const asking = await query(
      databaseUrl,
      `select from pg_stat_activity where query like '%charge_session where status = ''pending''%' and pid <> pg_backend_pid()
       and state = 'active'`,
    );
    expect(asking.length).to.be.at.most(1);
    await client.query('rollback');
    await client.end();
    await untilUp(1);
  });

  it('report that Redis is down, and how many requests were counted without it', async () => {
    const before = await scrape(hub);
    await fetch(`${hub.gatewayUrl}/v1/apps/no-app/public-key`);
    await until(async () => {
      const { sum } = await scrape(hub);
      return sum('hub_redis_fallbacks_total') > before.sum('hub_redis_fallbacks_total');
    }, 'a count in memory is told');
    const { samples } = await scrape(hub);
    expect(samples.filter(({ name }) => name === 'hub_redis_up').map(({ value }) => value)).to.deep.equal([
      0,
    ]);
  });
});
