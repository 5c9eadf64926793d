// Notifications of changed sessions between hubs, on a connection of their own.
import { expect } from 'chai';
import { pino } from 'pino';
import { openHubDatabase } from '../../../../core/hub/database.ts';
import { createSessionEvents } from '../../../../core/payment/sessions/read-sessions.ts';
import type { Database } from '../../../../core/storage/database.ts';
import { startTcpProxy } from '../../../support/network/tcp-proxy.ts';
import { createDatabase, query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

const LISTEN = 'listen charge_session';

describe('notifications of changed sessions', () => {
  let url: string;
  let db: Database;
  beforeEach(async () => {
    url = await createDatabase();
    db = await openHubDatabase({ url }, 2, pino({ level: 'silent' }));
  });
  afterEach(() => db.close());

  const start = (databaseUrl: string) =>
    createSessionEvents({ pool: db.pool, address: { url: databaseUrl }, onError: () => {} });

  it('arrive after another user of the database has sent "error"', async () => {
    const events = start(url);
    try {
      const listening = `select from pg_stat_activity where query = $1 and state = 'idle' and datname = current_database()`;
      await until(async () => (await query(url, listening, [LISTEN])).length === 1, 'the hub listens');
      await query(url, `select pg_notify('charge_session', 'error')`);
      const begun = performance.now();
      const next = events.next('a session', AbortSignal.timeout(20_000));
      await query(url, `select pg_notify('charge_session', 'a session')`);
      await next;
      expect(performance.now() - begun, 'ms, less than until the next poll').to.be.below(4_000);
    } finally {
      await events.close();
    }
  });

  it('stop within seconds if the server has stopped reading', async () => {
    const proxy = await startTcpProxy(url);
    try {
      proxy.holdBack(LISTEN);
      const events = start(proxy.url);
      await until(() => proxy.holds(), 'the server does not get the statement');
      const begun = performance.now();
      await events.close();
      expect(performance.now() - begun).to.be.below(5_000);
    } finally {
      await proxy.down();
    }
  });
});
