import { timestampMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import pg from 'pg';
import { formatId, newUuid, parseId } from '../../../../core/ids.ts';
import { createRefundCallbacks } from '../../../../core/payment/refunds/refund-callbacks.ts';
import { UsageLogKind } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { RefundOrigin, RefundState } from '../../../../gen/hub/payment/v1/refund_pb.ts';
import { RefundService } from '../../../../gen/hub/payment/v1/refund_service_pb.ts';
import { transportTo } from '../../../support/hub/hub.ts';
import { spawnHub } from '../../../support/hub/hub-process.ts';
import { createSession, GATEWAYS, journal, statusOf, untilStatus } from '../../../support/hub/payment.ts';
import { buyAndPay, createOffer, salesOf } from '../../../support/hub/sales.ts';
import { query, waitsForLock, withClient } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { refusal } from '../refusal.ts';
import {
  bdt,
  booksOf,
  DAY_MS,
  MINUTE_MS,
  madeBy,
  netOf,
  paidSession,
  type RefundScene,
  refundsOf,
  startRefunds,
  summary,
  untilSummary,
} from './refund-scene.ts';

describe('a refund', () => {
  let scene: RefundScene;
  before(async () => {
    scene = await startRefunds();
  });
  after(() => scene.stop());
  afterEach('the usage log has what the provider keeps', async () => {
    const kept = scene.simulator.totals()['BDT'] ?? 0n;
    await until(async () => (await netOf(scene)) === kept, `the net of the usage log is ${kept}`);
  });

  for (const gateway of GATEWAYS) {
    describe(`at ${gateway}`, () => {
      it('is requested once for 50 simultaneous calls with one key', async () => {
        const { sessionId, ref } = await paidSession(scene, gateway);
        const request = { sessionId, amount: bdt(2_500n), reason: 'returned', idempotencyKey: 'once' };
        const replies = await Promise.all(
          Array.from({ length: 50 }, () => scene.refunds.createRefund(request)),
        );
        expect(new Set(replies.map(({ refund }) => refund?.refundId)).size).to.equal(1);
        await untilSummary(scene, sessionId, ['succeeded 2500 hub']);
        expect(madeBy(scene, ref)).to.have.length(1);
        expect(await booksOf(scene, sessionId)).to.deep.equal({
          amounts: [10_000n, -2_500n],
          refunded: 2_500n,
        });
        expect(await refusal(scene.refunds.createRefund({ ...request, amount: bdt(2_600n) }))).to.include({
          code: 'idempotency_key_reused',
        });
      });

      it('adds up to the payment at most, also with concurrent calls', async () => {
        const { session, sessionId, ref } = await paidSession(scene, gateway);
        const results = await Promise.allSettled(
          Array.from({ length: 8 }, () =>
            scene.refunds.createRefund({ sessionId, amount: bdt(3_000n), reason: 'part' }),
          ),
        );
        expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(3);
        const part = 'succeeded 3000 hub';
        await untilSummary(scene, sessionId, [part, part, part]);
        expect(
          await refusal(scene.refunds.createRefund({ sessionId, amount: bdt(1_001n), reason: 'too much' })),
        ).to.deep.include({
          code: 'refund_exceeds_payment',
          field: 'amount',
          message: '10.00 BDT is left of the 100.00 BDT paid',
        });
        await scene.refunds.createRefund({ sessionId, reason: 'the rest' });
        await untilSummary(scene, sessionId, [part, part, part, 'succeeded 1000 hub']);
        expect(madeBy(scene, ref)).to.have.length(4);
        expect((await booksOf(scene, sessionId)).refunded).to.equal(10_000n);
        expect(await statusOf(scene, session)).to.equal('success');
        await scene.sessions.recheckChargeSession({ sessionId });
        expect(await statusOf(scene, session), 'after a recheck').to.equal('success');
        expect((await booksOf(scene, sessionId)).amounts).to.have.length(5);
        expect(await refusal(scene.refunds.createRefund({ sessionId, reason: 'more' }))).to.include({
          code: 'refund_exceeds_payment',
        });
      });

      it('is found if the answer is lost', async () => {
        const { sessionId, ref } = await paidSession(scene, gateway);
        scene.simulator.faults.add({ kind: 'empty', operation: `${gateway}.refund` });
        const { refund } = await scene.refunds.createRefund({
          sessionId,
          amount: bdt(4_000n),
          reason: 'lost',
        });
        expect(refund).to.include({ state: RefundState.PENDING, gatewayRefundId: '' });
        await letPass(sessionId);
        await untilSummary(scene, sessionId, ['succeeded 4000 hub']);
        expect(madeBy(scene, ref)).to.have.length(1);
      });

      it('is requested again if the request surely never arrived', async () => {
        const { sessionId, ref } = await paidSession(scene, gateway);
        scene.simulator.faults.add({ kind: 'error_500', operation: `${gateway}.refund` });
        await scene.refunds.createRefund({ sessionId, amount: bdt(4_100n), reason: 'not arrived' });
        await letPass(sessionId);
        await untilSummary(scene, sessionId, ['succeeded 4100 hub']);
        expect(madeBy(scene, ref)).to.have.length(1);
      });

      it('has a reason in any characters, also where a provider cuts it', async () => {
        const { sessionId } = await paidSession(scene, gateway);
        const reason = `no${'\u{1f600}'.repeat(198)}`;
        const { refund } = await scene.refunds.createRefund({ sessionId, reason });
        expect(refund?.reason).to.equal(reason);
        await untilSummary(scene, sessionId, ['succeeded 10000 hub']);
      });

      it('leaves its amount to others if it fails', async () => {
        const { sessionId, ref } = await paidSession(scene, gateway);
        scene.simulator.faults.add({ kind: 'refund_refused', operation: `${gateway}.refund` });
        const refused = await scene.refunds.createRefund({ sessionId, reason: 'refused' });
        expect(refused.refund?.state).to.equal(RefundState.FAILED);
        scene.simulator.faults.add({
          kind: 'refund_cancelled',
          operation: `${gateway}.refund`,
          delayMs: 1_500,
        });
        const cancelled = await scene.refunds.createRefund({ sessionId, reason: 'cancelled later' });
        expect(cancelled.refund?.state).to.equal(RefundState.PENDING);
        expect(
          await refusal(scene.refunds.createRefund({ sessionId, amount: bdt(1n), reason: 'too early' })),
        ).to.include({
          code: 'refund_exceeds_payment',
          message: 'nothing is left of the 100.00 BDT paid (100.00 BDT is pending)',
        });
        const failed = 'failed 10000 hub';
        await untilSummary(scene, sessionId, [failed, failed]);
        await scene.refunds.createRefund({ sessionId, reason: 'at last' });
        await untilSummary(scene, sessionId, [failed, failed, 'succeeded 10000 hub']);
        expect(madeBy(scene, ref)).to.have.length(1);
      });

      it('leaves a later reversal the rest', async () => {
        const { session, sessionId, ref } = await paidSession(scene, gateway);
        await scene.refunds.createRefund({ sessionId, amount: bdt(3_000n), reason: 'part' });
        await untilSummary(scene, sessionId, ['succeeded 3000 hub']);
        scene.simulator.reverse(ref);
        await scene.sessions.recheckChargeSession({ sessionId });
        expect(await statusOf(scene, session)).to.equal('cancelled');
        expect((await booksOf(scene, sessionId)).amounts).to.deep.equal([10_000n, -3_000n, -7_000n]);
        expect(await refusal(scene.refunds.createRefund({ sessionId, reason: 'more' }))).to.include({
          code: 'session_not_refundable',
        });
      });

      it('or reversal that the merchant makes at the provider is found by the sweep', async () => {
        const reversed = await paidSession(scene, gateway);
        const { sessionId, ref } = await paidSession(scene, gateway);
        // gateway_one does not report refunds of a part.
        const isPart = gateway === 'gateway_two';
        scene.simulator.refund(ref, isPart ? '12.50' : undefined);
        scene.simulator.reverse(reversed.ref);
        scene.clock.aheadMs += DAY_MS;
        await untilStatus(scene, reversed.session, 'cancelled');
        if (isPart) {
          await untilSummary(scene, sessionId, ['succeeded 1250 provider']);
          expect(await booksOf(scene, sessionId)).to.deep.equal({
            amounts: [10_000n, -1_250n],
            refunded: 1_250n,
          });
        }
      });
    });
  }

  it('of the hub is not mistaken for one of the provider', async () => {
    const { sessionId, ref } = await paidSession(scene, 'gateway_two');
    scene.simulator.faults.add({ kind: 'error_500', operation: 'gateway_two.refund' });
    await scene.refunds.createRefund({ sessionId, amount: bdt(4_200n), reason: 'never arrived' });
    scene.simulator.refund(ref, '42.00');
    await untilSummary(scene, sessionId, ['succeeded 4200 hub']);
    scene.simulator.refund(ref, '8.00');
    await scene.sessions.recheckChargeSession({ sessionId });
    expect(await summary(scene, sessionId)).to.deep.equal(['succeeded 4200 hub', 'succeeded 800 provider']);
    expect(madeBy(scene, ref)).to.have.length(2);
  });

  it('of all of the payment takes back what it bought, and a part of it asks an operator', async () => {
    const sales = await salesOf(scene);
    const offer = await createOffer(sales, 'pro');
    const whole = await buyAndPay(sales, offer);
    const { sessionId } = whole.session;
    await scene.refunds.createRefund({ sessionId, reason: 'returned' });
    await untilSummary(scene, sessionId, ['succeeded 10000 hub']);
    const { order } = await sales.orders.getOrder({ order: sessionId });
    const { license } = await scene.hub.admin.getLicense({ licenseId: order?.licenses[0]?.licenseId ?? '' });
    expect(license?.suspendedAt).to.not.equal(undefined);

    const two = await scene.sessions.createChargeSession({
      slot: 'wallet',
      offer,
      quantity: 2,
      currency: 'BDT',
    });
    const part = two.session?.sessionId ?? '';
    scene.simulator.pay(two.session?.providerPaymentId ?? '');
    await until(
      async () => (await scene.sessions.getChargeSession({ sessionId: part })).session?.status === 2,
      'paid',
    );
    await scene.refunds.createRefund({ sessionId: part, amount: bdt(10_000n), reason: 'one of two' });
    await untilSummary(scene, part, ['succeeded 10000 hub']);
    const [refund] = (await scene.refunds.listRefunds({ needsReview: true })).refunds;
    expect(refund).to.include({ sessionId: part });
    expect(refund?.reviewReason).to.not.equal('');
    const { refundId = '' } = refund ?? {};
    const resolved = await scene.refunds.resolveRefund({ refundId, resolution: 'revoked one license' });
    expect(resolved).to.deep.include({ unchanged: false });
    expect(await scene.refunds.resolveRefund({ refundId, resolution: 'again' })).to.deep.include({
      unchanged: true,
      refund: resolved.refund,
    });
    expect((await scene.refunds.listRefunds({ needsReview: true })).refunds).to.deep.equal([]);
  });

  it('survives a hub that is killed between the request and the answer', async () => {
    const { sessionId, ref } = await paidSession(scene, 'gateway_two');
    const killed = await spawnHub({
      DATABASE_URL: scene.hub.databaseUrl,
      HUB_DATA_DIR: scene.hub.dataDir,
      HUB_PROVIDER_TIMEOUT_MS: '1000',
    });
    const refunds = createClient(RefundService, transportTo(killed.rpcUrl, scene.hub.token));
    scene.tap.hold();
    const call = refunds.createRefund({ sessionId, amount: bdt(3_300n), reason: 'killed' }).catch(() => {});
    await until(() => madeBy(scene, ref).length === 1, 'the provider made the refund');
    killed.child.kill('SIGKILL');
    await call;
    scene.tap.release();
    const [refund] = await refundsOf(scene, sessionId);
    expect(refund).to.include({ state: RefundState.PENDING, origin: RefundOrigin.HUB, gatewayRefundId: '' });
    await untilSummary(scene, sessionId, ['succeeded 3300 hub']);
    expect(madeBy(scene, ref)).to.have.length(1);
  });

  it('has a time after the wait for its session, so that no export of the day before misses it', async () => {
    const { sessionId, ref } = await paidSession(scene, 'gateway_two');
    scene.simulator.refund(ref, '6.00');
    scene.tap.hold();
    scene.tap.forget();
    const recheck = scene.sessions.recheckChargeSession({ sessionId });
    await until(() => scene.tap.about(ref).length > 0, 'the hub asks for the refunds');
    const at = await withClient(scene.hub.databaseUrl, async (client) => {
      await client.query('begin');
      await client.query('select from charge_session where provider_payment_id = $1 for update', [ref]);
      scene.tap.release();
      const waits = () => waitsForLock(scene.hub.databaseUrl, 'select c.id,');
      await until(waits, 'the answer waits for the session');
      scene.clock.aheadMs += MINUTE_MS;
      const now = Date.now() + scene.clock.aheadMs;
      await client.query('commit');
      return now;
    });
    await recheck;
    const { usageLogs } = await scene.sessions.inspectChargeSession({ sessionId });
    expect(usageLogs.map(({ kind }) => kind)).to.deep.equal([UsageLogKind.PAYMENT, UsageLogKind.REFUND]);
    expect(timestampMs(usageLogs[1]?.settledAt ?? expect.fail('no time'))).to.be.at.least(at);
  });

  it('that a callback reports is found at once, and settles the callback when the provider answers', async () => {
    const { session, sessionId, ref } = await paidSession(scene, 'gateway_two');
    const pool = new pg.Pool({ connectionString: scene.hub.databaseUrl });
    const callbacks = createRefundCallbacks({
      pool,
      clock: () => new Date(Date.now() + scene.clock.aheadMs),
      metrics: { finished: () => {} },
      retryDelayMs: 1_000,
    });
    const id = newUuid();
    await pool.query(
      `insert into callback (id, gateway, fields, received_at, state, reason, attempts)
       values ($1, 'gateway_two', '{}', now(), 'received', '', 0)`,
      [id],
    );
    scene.simulator.refund(ref, '5.00');
    scene.simulator.faults.add({ kind: 'error_500', operation: 'gateway_two.refund_query' });
    expect(await callbacks.waitForSweep(parseId('chs', sessionId) ?? '', id)).to.equal(true);
    await pool.end();
    const callback = async () =>
      (await journal(scene, session)).find((each) => each.callbackId.endsWith(short(id)));
    await until(async () => (await callback())?.state === 'settled', 'the callback is settled');
    expect((await callback())?.attempts).to.be.above(1);
    expect(await summary(scene, sessionId)).to.deep.equal(['succeeded 500 provider']);
  });

  it('is refused for a session that is not paid, in another currency, and for no amount', async () => {
    const { sessionId } = await createSession(scene, 'gateway_one');
    const codeOf = async (request: Parameters<typeof scene.refunds.createRefund>[0]) =>
      (await refusal(scene.refunds.createRefund(request))).code;
    expect(await codeOf({ sessionId, reason: 'unpaid' })).to.equal('session_not_refundable');
    const paid = await paidSession(scene, 'gateway_one');
    const dollars = { minorUnits: 1n, currency: 'USD' };
    expect(await codeOf({ ...paid, amount: dollars, reason: 'dollars' })).to.equal('amount_invalid');
    expect(await codeOf({ ...paid, amount: bdt(0n), reason: 'nothing' })).to.equal('amount_invalid');
    expect(await codeOf({ sessionId: 'chs_01k8e7qk3vf2tb5s0w9m4x6ydz', reason: 'whose' })).to.equal(
      'session_unknown',
    );
  });

  const short = (id: string): string => formatId('cb', id).slice(-20);

  /** Lets the hub ask twice, more than a minute apart. */
  async function letPass(sessionId: string): Promise<void> {
    const refund = async () => {
      const [row] = await query<{ missing: boolean; state: string }>(
        scene.hub.databaseUrl,
        `select missing_since is not null as missing, state from refund
         where session_id = (select id from charge_session where merchant_transaction_id = $1)`,
        [sessionId.slice('chs_'.length).toUpperCase()],
      );
      return row;
    };
    await until(async () => {
      const row = await refund();
      return row?.missing === true || row?.state === 'succeeded';
    }, 'the hub has asked once');
    scene.clock.aheadMs += 3 * MINUTE_MS;
  }
});
