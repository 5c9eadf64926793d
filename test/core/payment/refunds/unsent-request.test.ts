// Refunds whose requests the hub cannot send: they stay unrequested.
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { HOUR_MS, systemClock } from '../../../../core/clock.ts';
import { formatId, newUuid, parseId } from '../../../../core/ids.ts';
import { createPaymentMetrics } from '../../../../core/payment/metrics.ts';
import { gatewayTwo } from '../../../../core/payment/providers/gateway-two/driver.ts';
import { createSyncRefunds } from '../../../../core/payment/refunds/sync-refunds.ts';
import { createProviderConcurrency } from '../../../../core/payment/slots/provider-connections.ts';
import { createVerificationLeases } from '../../../../core/payment/verification/lease.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';
import { withClient } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import {
  json,
  type ScriptedProvider,
  silence,
  startScriptedProvider,
} from '../providers/scripted-provider.ts';
import { createTestAccess, type TestAccess } from '../providers/test-access.ts';
import { paidSession, type RefundScene, startRefunds } from './refund-scene.ts';

const REQUEST = '/v2/tokenized-checkout/refund/payment/transaction';
const LEASE_MS = 3_000;
const SLOT = 'wallet';

describe('a refund whose request is not sent', () => {
  let scene: RefundScene;
  let pool: pg.Pool;
  let provider: ScriptedProvider;
  let access: TestAccess;
  before(async () => {
    scene = await startRefunds();
    pool = new pg.Pool({ connectionString: scene.hub.databaseUrl });
    provider = await startScriptedProvider();
    provider.on('/token/grant', json({ statusCode: '0000', id_token: 'token', expires_in: 3_600 }));
    provider.on(REQUEST, silence);
    access = createTestAccess({ baseUrl: provider.url, credentials: {}, timeoutMs: 30_000 });
  });
  after(async () => {
    await pool.end();
    await access.http.close();
    await provider.close();
    await scene.stop();
  });

  const concurrency = createProviderConcurrency(1, () => {});
  const createSync = () =>
    createSyncRefunds({
      pool,
      clock: systemClock,
      logger: pino({ level: 'silent' }),
      metrics: createPaymentMetrics(createMetrics(), []),
      // So long that the hub of the scene does not request them either.
      retryDelayMs: HOUR_MS,
      leaseMs: HOUR_MS,
      leases: createVerificationLeases({ pool, leaseMs: LEASE_MS }),
      concurrency,
      sales: {
        takeBack: () => Promise.reject(new Error('nothing is refunded')),
        reviewPartialRefund: () => Promise.reject(new Error('nothing is refunded')),
      },
      providers: { forSlot: () => Promise.resolve({ driver: gatewayTwo, access }) },
    });

  /** Unrequested refunds, which the hub of the scene does not request meanwhile. */
  const storeRefunds = async (sessionId: string, count: number): Promise<readonly string[]> => {
    const ids = Array.from({ length: count }, newUuid);
    await pool.query(
      `insert into refund (id, session_id, slot_id, gateway, gateway_transaction_id, kind, origin, amount_minor,
         currency, reason, state, state_reason, created_at, next_check_at)
       select t.id, c.id, c.slot_id, 'gateway_two', c.gateway_transaction_id, 'refund', 'hub', 1000,
         'BDT', 'returned', 'pending', 'not requested yet', now(), now() + interval '1 day'
       from charge_session c, unnest($2::uuid[]) as t (id) where c.id = $1`,
      [sessionId, ids],
    );
    return ids;
  };
  type Row = { id: string; requests: number; requested: boolean; reason: string };
  const readRefunds = async (ids: readonly string[]): Promise<Row[]> => {
    const { rows } = await pool.query<Row>(
      `select id, requests, requested_at is not null as requested, state_reason as reason
       from refund where id = any($1) order by id`,
      [ids],
    );
    return rows;
  };
  const pay = async (): Promise<string> => {
    const { sessionId } = await paidSession(scene, 'gateway_two');
    return parseId('chs', sessionId) ?? expect.fail('no session');
  };

  it('because earlier requests used up the lease, counts no request', async () => {
    const sessionId = await pay();
    const ids = await storeRefunds(sessionId, 2);
    await createSync().request(sessionId, 0);
    const sent = (id: string): number =>
      provider.received.filter(({ body }) => body.includes(formatId('rfd', id))).length;
    for (const { id, requests, requested } of await readRefunds(ids)) {
      expect({ requests, requested }).to.deep.equal({ requests: sent(id), requested: sent(id) > 0 });
    }
    // On a slow machine, not even the first one is sent.
    const [, second] = await readRefunds(ids);
    expect(second).to.include({
      requests: 0,
      reason: 'the hub could not send the request: the earlier calls of this verification took too long',
    });
  });

  it('because the wait for its session used up the lease, counts no request', async () => {
    const sessionId = await pay();
    const ids = await storeRefunds(sessionId, 1);
    const { promise: end, resolve: freePlace } = Promise.withResolvers<void>();
    const call = concurrency.run(SLOT, () => end);
    const request = createSync().request(sessionId, 0);
    await until(() => concurrency.load(SLOT).waiting === 1, 'the request waits with its lease');
    const waitsSince = performance.now();
    await withClient(scene.hub.databaseUrl, async (client) => {
      await client.query('begin');
      await client.query('select from charge_session where id = $1 for update', [sessionId]);
      freePlace();
      // A request needs a second, and must end half a second before the lease.
      await until(() => performance.now() - waitsSince > LEASE_MS - 1_500, 'too little time is left');
      await client.query('commit');
    });
    await Promise.all([call, request]);
    const [refund] = await readRefunds(ids);
    expect(refund).to.deep.include({
      requests: 0,
      requested: false,
      reason: 'the hub could not send the request: the earlier calls of this verification took too long',
    });
  });

  it('because too many other calls wait, counts no request', async () => {
    const sessionId = await pay();
    const ids = await storeRefunds(sessionId, 1);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const calls: Promise<void>[] = [];
    const isFull = () => concurrency.load(SLOT).waiting === 16;
    while (!isFull()) calls.push(concurrency.run(SLOT, () => end));
    await createSync().request(sessionId, 0);
    resolve();
    await Promise.all(calls);
    const [refund] = await readRefunds(ids);
    expect(refund).to.deep.include({
      requests: 0,
      requested: false,
      reason: 'the hub could not send the request: too many other calls to this provider are waiting',
    });
  });
});
