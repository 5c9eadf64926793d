// Sessions that are found paid in the same tick: those about which something is to be decided are left out, no others.
import { expect } from 'chai';
import { pino } from 'pino';
import { openHubDatabase } from '../../../../core/hub/database.ts';
import { newUuid } from '../../../../core/ids.ts';
import { createPaymentMetrics } from '../../../../core/payment/metrics.ts';
import { createSettle } from '../../../../core/payment/settlement/settle.ts';
import type { Database } from '../../../../core/storage/database.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';
import { createMigratedDatabase, waitsForLock } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

describe('settlements of the same tick', () => {
  let url: string;
  let db: Database;
  const slotId = newUuid();
  beforeEach(async () => {
    url = await createMigratedDatabase();
    db = await openHubDatabase({ url }, 4, pino({ level: 'silent' }));
    await db.pool.query(
      `insert into slot (id, name, gateway, environment, base_url, options, sealed_credentials, created_at, rotated_at)
       values ($1, 'main', 'gateway_one', 'sandbox', '', '{}', '', now(), now())`,
      [slotId],
    );
  });
  afterEach(() => db.close());

  const addSession = async (): Promise<string> => {
    const id = newUuid();
    await db.pool.query(
      `insert into charge_session (id, slot_id, status, status_reason, status_changed_at, amount_minor, currency,
                                   order_reference, customer, metadata, merchant_transaction_id, created_at, checks)
       values ($1::uuid, $2, 'pending', '', now(), 10000, 'BDT', '', '{}', '{}', $1::uuid::text, now(), 0)`,
      [id, slotId],
    );
    return id;
  };
  const addSessions = (count: number) => Promise.all(Array.from({ length: count }, addSession));
  const settleBy = (clock = () => new Date()) => {
    const metrics = createPaymentMetrics(createMetrics(), []);
    const settle = createSettle({
      pool: db.pool,
      clock,
      metrics,
      logger: pino({ level: 'silent' }),
      fulfill: async () => ({ events: [], changes: [] }),
      takeBack: async () => ({ events: [], changes: [] }),
      onChange: () => {},
    });
    return (sessionId: string, gatewayTransactionId = `proof of ${sessionId}`) =>
      settle({
        sessionId,
        callbackIds: [],
        steps: [],
        verdict: { kind: 'paid', gatewayTransactionId, detail: 'paid' },
      });
  };
  /** The transactions that wrote the usage logs of these sessions. */
  const transactionsOf = async (sessions: readonly string[]) => {
    const { rows } = await db.pool.query<{ transaction: string }>(
      'select xmin::text as transaction from usage_log where id = any($1)',
      [sessions],
    );
    expect(rows).to.have.length(sessions.length);
    return new Set(rows.map(({ transaction }) => transaction));
  };

  it('share a transaction, except for a paid session and a proof that paid another session', async () => {
    const settle = settleBy();
    const [paid = '', thief = '', ...plain] = await addSessions(6);
    await settle(paid, 'proof');
    const [again, stolen, ...others] = await Promise.all([
      settle(paid, 'proof'),
      settle(thief, 'proof'),
      ...plain.map((sessionId) => settle(sessionId)),
    ]);
    expect(again?.outcome.state).to.equal('settled');
    expect(again?.changed).to.equal(false);
    expect(stolen?.outcome.state).to.equal('mismatch');
    expect(others.map(({ changed }) => changed)).to.deep.equal(plain.map(() => true));
    expect((await transactionsOf(plain)).size).to.equal(1);
    expect((await transactionsOf([paid, ...plain])).size).to.equal(2);
  });

  it('settle one of two sessions with the same proof', async () => {
    const settle = settleBy();
    const [one = '', two = '', ...plain] = await addSessions(5);
    const [first, second] = await Promise.all([
      settle(one, 'proof'),
      settle(two, 'proof'),
      ...plain.map((sessionId) => settle(sessionId)),
    ]);
    expect([first?.outcome.state, second?.outcome.state].sort()).to.deep.equal(['mismatch', 'settled']);
    expect((await transactionsOf(plain)).size).to.equal(1);
  });

  it('do not wait for a locked session', async () => {
    const settle = settleBy();
    const [held = '', ...plain] = await addSessions(5);
    const holder = await db.pool.connect();
    try {
      await holder.query('begin');
      await holder.query('select from charge_session where id = $1 for no key update', [held]);
      const late = settle(held);
      await Promise.all(plain.map((sessionId) => settle(sessionId)));
      expect((await transactionsOf(plain)).size).to.equal(1);
      await holder.query('commit');
      expect(await late).to.include({ changed: true });
    } finally {
      holder.release();
    }
  });

  it('have a time after the wait for a session, so that no export of the day before misses them', async () => {
    let now = new Date('2026-01-31T23:59:59.999Z');
    const settle = settleBy(() => now);
    const [held = ''] = await addSessions(1);
    const holder = await db.pool.connect();
    try {
      await holder.query('begin');
      await holder.query('select from charge_session where id = $1 for no key update', [held]);
      const late = settle(held);
      await until(() => waitsForLock(url, 'charge_session'), 'the settlement waits for the session');
      now = new Date('2026-02-01T00:00:10.000Z');
      await holder.query('commit');
      await late;
    } finally {
      holder.release();
    }
    const { rows } = await db.pool.query('select settled_at = $2 as "isNow" from usage_log where id = $1', [
      held,
      now,
    ]);
    expect(rows).to.deep.equal([{ isNow: true }]);
  });
});
