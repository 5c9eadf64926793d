// A customer pays a session twice, and the callback of the second payment is only counted.
import { expect } from 'chai';
import type { ChargeSession } from '../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  type Payments,
  pay,
  payQuietly,
  startPayments,
  statusOf,
} from '../support/hub/payment.ts';
import { query, withClient } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

describe('a second payment of a session with its maximum of callbacks', () => {
  const KEPT = 3;
  let payments: Payments;
  /** How far the hub's clock is ahead. */
  let aheadMs = 0;
  const clock = () => new Date(Date.now() + aheadMs);
  before(async () => {
    payments = await startPayments({ clock, settings: { sessionCallbacks: KEPT } });
  });
  beforeEach(() => payments.tap.forget());
  after(() => payments?.stop());

  const send = (fields: Record<string, string>, { gateway }: ChargeSession) =>
    callBack(payments.hub.gatewayUrl, gateway, fields);
  const foundIn = async (session: ChargeSession) =>
    (await inspect(payments, session)).duplicatePayments.map((each) => each.providerPaymentId);
  const untilFound = (session: ChargeSession) =>
    until(async () => (await foundIn(session)).length === 1, 'the duplicate payment is found');
  const fill = async (session: ChargeSession): Promise<void> => {
    for (let time = 0; time < KEPT; time++) await send(callbackFields(session, 'failed'), session);
  };
  /** The customer pays again, and the provider's own callback is lost. Resolves with what it would have said. */
  const payAgainQuietly = (session: ChargeSession): Record<string, string> => {
    const { providerPaymentId: ref, merchantTransactionId } = session;
    payments.simulator.faults.add({ kind: 'lost', operation: 'callback', times: 1 });
    payments.simulator.payAgain(ref);
    if (session.gateway === 'gateway_one')
      return callbackFields(session, 'paid', payments.simulator.proofs(ref).at(-1));
    const second = payments.simulator
      .payments()
      .find((each) => each.merchantTransactionId === merchantTransactionId && each.ref !== ref);
    return { ...callbackFields(session, 'paid'), paymentID: second?.ref ?? expect.fail('no second payment') };
  };
  const forged = (session: ChargeSession, name: string) => ({
    ...callbackFields(session, 'paid'),
    paymentID: `FORGED-${name}`,
  });

  for (const gateway of GATEWAYS) {
    it(`at ${gateway} is found by a callback that is only counted`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      await fill(session);
      await send(payAgainQuietly(session), session);
      await untilFound(session);
      expect((await inspect(payments, session)).callbacks).to.have.length(KEPT);
      expect(payments.tap.calls.filter((path) => path.endsWith('/execute')).length).to.be.at.most(1);
    });

    it(`at ${gateway} causes no query when counted callbacks repeat the first payment`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      await fill(session);
      payments.tap.forget();
      const proof = (await inspect(payments, session)).session?.gatewayTransactionId;
      for (let time = 0; time < 5; time++) await send(callbackFields(session, 'paid', proof), session);
      const marked = await query(
        payments.hub.databaseUrl,
        'select from charge_session where merchant_transaction_id = $1 and next_check_at is not null',
        [session.merchantTransactionId],
      );
      expect(marked).to.deep.equal([]);
      expect(payments.tap.calls).to.deep.equal([]);
    });
  }

  it('is found although both payments were only counted before the settlement', async () => {
    const session = await createSession(payments, 'gateway_one');
    await fill(session);
    const first = callbackFields(session, 'paid', payQuietly(payments, session));
    const second = payAgainQuietly(session);
    payments.tap.hold();
    await send(first, session);
    await until(() => payments.tap.held() > 0, 'the provider receives a query');
    await send(second, session);
    payments.tap.release();
    await untilFound(session);
  });

  it('is marked although it is counted while the settlement commits', async () => {
    const { databaseUrl } = payments.hub;
    const session = await createSession(payments, 'gateway_one');
    const { sessionId, merchantTransactionId } = session;
    await fill(session);
    payQuietly(payments, session);
    // The next verification is neither due nor later than the rate limit allows.
    const [stored] = await query<{ id: string }>(
      databaseUrl,
      `update charge_session set verification_allowed_at = now() + interval '1 hour',
         next_check_at = now() + interval '30 minutes' where merchant_transaction_id = $1 returning id`,
      [merchantTransactionId],
    );
    await withClient(databaseUrl, async (holder) => {
      await holder.query(
        `create function wait() returns trigger language plpgsql as
           'begin perform pg_advisory_xact_lock(1); return null; end';
         create constraint trigger wait after update of status on charge_session deferrable initially deferred
           for each row when (new.id = '${stored?.id}') execute function wait()`,
      );
      await holder.query('select pg_advisory_lock(1)');
      const recheck = payments.sessions.recheckChargeSession({ sessionId });
      await until(async () => {
        const { rows } = await holder.query(
          `select from pg_locks where locktype = 'advisory' and not granted and database =
             (select oid from pg_database where datname = current_database())`,
        );
        return rows.length > 0;
      }, 'the settlement waits before its commit');
      const counted = async (): Promise<number> => {
        const { rows } = await holder.query('select ignored from callback_count where session_id = $1', [
          stored?.id,
        ]);
        return rows[0]?.ignored ?? 0;
      };
      const before = await counted();
      const sent = send(payAgainQuietly(session), session);
      await until(async () => (await counted()) > before, 'the callback is counted');
      await holder.query('select pg_advisory_unlock(1)');
      await Promise.all([recheck, sent]);
      await holder.query('drop trigger wait on charge_session; drop function wait');
    });
    expect(await statusOf(payments, session)).to.equal('success');
    const marked = await query(
      databaseUrl,
      'select from charge_session where merchant_transaction_id = $1 and other_payment_since is not null',
      [merchantTransactionId],
    );
    expect(marked).to.have.length(1);
  });

  const hideAmongForged = async (): Promise<void> => {
    const session = await createSession(payments, 'gateway_two');
    await pay(payments, session);
    const honest = payAgainQuietly(session);
    for (let index = 0; index < 8; index++) await send(forged(session, `BEFORE-${index}`), session);
    await send(honest, session);
    for (let index = 0; index < 8; index++) await send(forged(session, `AFTER-${index}`), session);
    // The next check is at most a minute away; each queries five payment ids.
    aheadMs += 60_000;
    await untilFound(session);
    expect(await foundIn(session)).to.deep.equal([honest['paymentID']]);
    await until(async () => {
      const rows = await query<{ left: number }>(
        payments.hub.databaseUrl,
        `select cardinality(k.other_checkouts) as left from callback_count k join charge_session c on c.id = k.session_id
         where c.merchant_transaction_id = $1 and c.other_payment_since is null`,
        [session.merchantTransactionId],
      );
      return rows[0]?.left === 0;
    }, 'the provider was asked about all of them');
  };
  it('is not hidden by forged payment ids before and after it', hideAmongForged);

  it('is not hidden by them even if the journal stores all', async () => {
    const full = payments;
    payments = await startPayments({ clock });
    try {
      await hideAmongForged();
    } finally {
      await payments.stop();
      payments = full;
    }
  });
});
