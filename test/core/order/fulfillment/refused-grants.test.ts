// Grants that fail in the database: what can never succeed blocks its order, what may succeed later is settled later.
import { join } from 'node:path';
import { expect } from 'chai';
import { pino } from 'pino';
import { openHubDatabase } from '../../../../core/hub/database.ts';
import { parseId } from '../../../../core/ids.ts';
import { createKeySecrets } from '../../../../core/license/keys/open-key-secrets.ts';
import { createFulfill } from '../../../../core/order/fulfillment/fulfill.ts';
import { takeBack } from '../../../../core/order/refunds/take-back-orders.ts';
import { createPaymentMetrics } from '../../../../core/payment/metrics.ts';
import { createSettle } from '../../../../core/payment/settlement/settle.ts';
import type { Database } from '../../../../core/storage/database.ts';
import { loadMasterKeyFile } from '../../../../core/storage/secrets/key-ring-file.ts';
import { createSealer } from '../../../../core/storage/secrets/sealing.ts';
import { type Order, OrderState } from '../../../../gen/hub/order/v1/order_pb.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';
import { buy, createOffer, orderOf, type Sales, startSales } from '../../../support/hub/sales.ts';
import { asSuperuser, query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('a grant that the database refuses', () => {
  let sales: Sales;
  let db: Database;
  let settle: (sessionId: string) => Promise<boolean>;
  let good: string;
  before(async () => {
    sales = await startSales();
    const { databaseUrl, dataDir } = sales.payments.hub;
    const logger = pino({ level: 'silent' });
    db = await openHubDatabase({ url: databaseUrl }, 8, logger);
    const clock = () => new Date();
    const sealer = createSealer(loadMasterKeyFile(join(dataDir, 'master.key')));
    const settleFinding = createSettle({
      pool: db.pool,
      clock,
      metrics: createPaymentMetrics(createMetrics(), []),
      logger,
      fulfill: createFulfill(createKeySecrets({ pool: db.pool, sealer, clock })),
      takeBack,
      onChange: () => {},
    });
    settle = async (id) => {
      const sessionId = parseId('chs', id) ?? '';
      const verdict = { kind: 'paid', gatewayTransactionId: `proof of ${id}`, detail: 'paid' } as const;
      return (await settleFinding({ sessionId, callbackIds: [], steps: [], verdict })).changed;
    };
    good = await createOffer(sales, 'good');
  });
  after(async () => {
    await db?.close();
    await sales?.stop();
  });

  const sql = (text: string, values: unknown[] = []) =>
    query<Record<string, string>>(asSuperuser(sales.payments.hub.databaseUrl), text, values);
  const buyIt = async (offer: string, licenseId?: string): Promise<string> =>
    (await buy(sales, offer, { ...(licenseId && { licenseId }) })).session.sessionId;
  const buyGood = (count: number) => Promise.all(Array.from({ length: count }, () => buyIt(good)));
  const orderOfSession = (sessionId: string): Promise<Order> => orderOf(sales, sessionId);
  const expectFulfilled = async (sessions: readonly string[]): Promise<void> => {
    for (const sessionId of sessions) {
      const order = await orderOfSession(sessionId);
      expect(order).to.include({ state: OrderState.FULFILLED, reason: '' });
      expect(order.licenses).to.have.length(1);
    }
  };
  /** The status of a session, and how many orders and usage log entries it has. */
  const booked = async (sessionId: string) => {
    const [row] = await sql(
      `select status, (select count(*) from sales_order where session_id = c.id) as orders,
              (select count(*) from usage_log where session_id = c.id) as payments
       from charge_session c where id = $1`,
      [parseId('chs', sessionId)],
    );
    return `${row?.['status']}, ${row?.['orders']} orders, ${row?.['payments']} payments`;
  };
  const issueLicense = async (): Promise<string> => {
    const expiresAt = { seconds: BigInt(Math.floor(Date.now() / 1_000) + 86_400), nanos: 0 };
    const { licenses } = await sales.payments.hub.admin.issueLicenses({ app: sales.app, expiresAt });
    return licenses[0]?.license?.licenseId ?? '';
  };

  it('blocks the order of its session only, and a retry grants it', async () => {
    const grant = { case: 'license', value: { metadata: { tier: 'refused' } } } as const;
    const refused = await createOffer(sales, 'refused', { grant });
    await sql(`alter table license add constraint no_such_tier check (metadata->>'tier' <> 'refused')`);
    const [first, second, ...others] = await Promise.all([
      buyIt(refused),
      buyIt(refused),
      ...(await buyGood(4)),
    ]);
    const sessions = [first, second, ...others];
    const changed = await Promise.all(sessions.map(settle));
    expect(changed).to.deep.equal(sessions.map(() => true));
    await expectFulfilled(others);
    const issued = await sql('select id from license');
    for (const sessionId of [first, second]) {
      expect(await booked(sessionId)).to.equal('success, 1 orders, 1 payments');
      const order = await orderOfSession(sessionId);
      expect(order).to.deep.include({ state: OrderState.BLOCKED, licenses: [] });
      expect(order.reason).to.contain('no_such_tier');
    }

    const { orderId } = await orderOfSession(first);
    const again = await sales.orders.retryOrder({ order: orderId });
    expect(again.order).to.include({ state: OrderState.BLOCKED });
    expect(await toldOf(orderId), 'the same reason is no news').to.deep.equal(['order.blocked']);
    await sql('alter table license drop constraint no_such_tier');
    await sales.orders.retryOrder({ order: orderId });
    await sales.orders.retryOrder({ order: orderId });
    await expectFulfilled([first]);
    expect(await sql('select id from license')).to.have.length(issued.length + 1);
    expect(await toldOf(orderId)).to.deep.equal(['order.blocked', 'order.fulfilled']);
  });

  it('blocks the order of an offer whose limit profile is gone', async () => {
    const { admin } = sales.payments.hub;
    await admin.setLimitProfile({ app: sales.app, name: 'large', limits: { projects: 10n } });
    const grant = { case: 'license', value: { limitProfile: 'large' } } as const;
    const offer = await createOffer(sales, 'profiled', { grant });
    const sessionId = await buyIt(offer);
    await sql(`delete from limit_profile where name = 'large'`);
    const others = await buyGood(2);
    await Promise.all([sessionId, ...others].map(settle));
    await expectFulfilled(others);
    const order = await orderOfSession(sessionId);
    expect(order).to.deep.include({ state: OrderState.BLOCKED, licenses: [] });
    expect(order.reason).to.contain('limit_profile');
  });

  it('waits for a license that another transaction holds, while the other sessions are settled', async () => {
    const grant = { case: 'renewal', value: { by: { days: 30 } } } as const;
    const renewal = await createOffer(sales, 'renewal', { grant });
    const sessionId = await buyIt(renewal, await issueLicense());
    const others = await buyGood(3);
    const holder = await db.pool.connect();
    try {
      await holder.query('begin');
      await holder.query(
        `select from license where id = (select license_id from purchase where session_id = $1) for update`,
        [parseId('chs', sessionId)],
      );
      const late = settle(sessionId);
      await Promise.all(others.map(settle));
      await expectFulfilled(others);
      expect(await booked(sessionId)).to.equal('pending, 0 orders, 0 payments');
      await holder.query('commit');
      expect(await late).to.equal(true);
    } finally {
      holder.release();
    }
    await expectFulfilled([sessionId]);
    expect(await booked(sessionId)).to.equal('success, 1 orders, 1 payments');
  });

  it('is rolled back with the payment if the connection is lost, and settled again', async () => {
    const renewal = `${sales.app}/renewal`;
    const sessionId = await buyIt(renewal, await issueLicense());
    const holder = await db.pool.connect();
    try {
      await holder.query('begin');
      await holder.query(
        `select from license where id = (select license_id from purchase where session_id = $1) for update`,
        [parseId('chs', sessionId)],
      );
      const lost = settle(sessionId).then(
        () => 'settled',
        (error) => String(error),
      );
      const isEnded = async () => (await endWaiting()) > 0;
      await until(isEnded, 'the settlement waits alone for the license', 10_000);
      expect(await lost).to.match(/terminat/);
      expect(await booked(sessionId)).to.equal('pending, 0 orders, 0 payments');
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    expect(await settle(sessionId)).to.equal(true);
    await expectFulfilled([sessionId]);
  });

  for (const [what, code] of [
    ['deadlock', '40P01'],
    ['lock that is not granted', '55P03'],
    ['statement that takes too long', '57014'],
    ['serialization failure', '40001'],
  ]) {
    it(`is rolled back with the payment after a ${what}, and settled again`, async () => {
      const sessionId = await buyIt(good);
      await sql(`create function fail() returns trigger language plpgsql as
                 $$ begin raise exception using errcode = '${code}', message = 'made by the test'; end $$`);
      await sql('create trigger fails before insert on license for each row execute function fail()');
      try {
        const failure = await settle(sessionId).catch((error) => error.code);
        expect(failure).to.equal(code);
        expect(await booked(sessionId)).to.equal('pending, 0 orders, 0 payments');
      } finally {
        await sql('drop function fail cascade');
      }
      expect(await settle(sessionId)).to.equal(true);
      expect(await settle(sessionId)).to.equal(false);
      await expectFulfilled([sessionId]);
      expect(await booked(sessionId)).to.equal('success, 1 orders, 1 payments');
    });
  }

  /** Ends the connections that wait for the lock of a license without a time limit. Returns their number. */
  async function endWaiting(): Promise<number> {
    const ended = await sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%l.seats_used as "seatsUsed"%'
         and now() - query_start > interval '1200 ms'`,
    );
    return ended.length;
  }

  /** The types of the events of an order, the oldest first. */
  async function toldOf(orderId: string): Promise<string[]> {
    const rows = await sql(
      `select type from (select type, object_id, number from event
                         union all select type, unnest(object_ids), 1000000 + position from event_outbox) e
       where object_id = $1 order by number`,
      [parseId('ord', orderId)],
    );
    return rows.map(({ type = '' }) => type);
  }
});
