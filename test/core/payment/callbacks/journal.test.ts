import { expect } from 'chai';
import pg from 'pg';
import { CallbackState } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  type CallbackAnswer,
  callBack,
  callbackFields,
  createSession,
  inspect,
  journal,
  type Payments,
  pay,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/network/tcp-proxy.ts';
import { createMigratedDatabase, query, waitsForLock } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { refusal } from '../refusal.ts';

const DAY_MS = 24 * 3_600_000;
const BUDGET_MS = 500;

describe('the callback journal', () => {
  let payments: Payments;
  let database: TcpProxy;
  let databaseUrl: string;
  /** How far the hub's clock is ahead. */
  let aheadMs: number;
  before(async () => {
    aheadMs = 0;
    databaseUrl = await createMigratedDatabase();
    database = await startTcpProxy(databaseUrl);
    payments = await startPayments({
      settings: { databaseUrl: database.url, callbackBudgetMs: BUDGET_MS },
      clock: () => new Date(Date.now() + aheadMs),
    });
  });
  after(async () => {
    await payments.stop();
    await database.down();
  });

  /** Makes the credentials of the slot unreadable. Returns a function that restores them. */
  const breakCredentials = async (): Promise<() => Promise<unknown>> => {
    const seal = (sealed: Buffer | undefined) =>
      query(databaseUrl, `update slot set sealed_credentials = $1 where name = 'store'`, [sealed]);
    const [slot] = await query<{ sealed: Buffer }>(
      databaseUrl,
      `select sealed_credentials as sealed from slot where name = 'store'`,
    );
    await seal(Buffer.from('not sealed at all'));
    return () => seal(slot?.sealed);
  };

  it('commits a callback before the response to the provider', async () => {
    const session = await createSession(payments, 'gateway_two');
    const locker = new pg.Client({ connectionString: databaseUrl });
    await locker.connect();
    let answered = false;
    let answer: Promise<CallbackAnswer>;
    try {
      await locker.query('begin; lock table callback in share mode');
      const begun = performance.now();
      const fields = callbackFields(session, 'cancelled');
      answer = callBack(payments.hub.gatewayUrl, 'gateway_two', fields).finally(() => {
        answered = true;
      });
      await until(() => waitsForLock(databaseUrl, 'with entry as'), 'the journal waits for the lock');
      await until(() => performance.now() - begun > 2 * BUDGET_MS, 'the time for the response has passed');
      expect(answered, 'answered while nothing could be committed').to.equal(false);
    } finally {
      await locker.end();
    }
    expect(await answer).to.deep.equal({ status: 200, body: 'ok' });
    await untilStatus(payments, session, 'cancelled');
  });

  it("reports an outage of its database, and accepts the provider's next attempt", async () => {
    const session = await createSession(payments, 'gateway_one');
    const fields = callbackFields(session, 'paid', payQuietly(payments, session));
    await database.down();
    const { status, body } = await callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
    expect(status).to.equal(503);
    expect(JSON.parse(body)).to.include({ ok: false, status: 503 });
    expect(await query(databaseUrl, 'select from callback where session_id is null')).to.deep.equal([]);
    await database.up();
    const again = () => callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
    await until(async () => (await again()).status === 200, 'the callback is taken');
    await untilStatus(payments, session, 'success');
  });

  it('stores at most 5 KiB of a callback, with the fields that the driver reads', async () => {
    const session = await createSession(payments, 'gateway_one');
    const { tran_id = '', session_id = '' } = callbackFields(session, 'paid');
    const [longest, proof] = ['𝕏'.repeat(255), payQuietly(payments, session)];
    // As much as a form may have.
    const padded = (fields: Record<string, string>) => {
      const bytes = (65_536 - new URLSearchParams(fields).toString().length) / 160 - '&pad100='.length;
      const padding = Array.from({ length: 160 }, (_, index) => [`pad${index}`, 'x'.repeat(bytes)]);
      return { ...Object.fromEntries(padding), ...fields };
    };
    const sent = [
      padded({ status: longest, tran_id, val_id: longest, session_id }),
      padded({ status: longest, tran_id: longest, val_id: longest, session_id: '𝕏'.repeat(256) }),
      padded({ status: 'VALID', tran_id, val_id: proof, session_id }),
    ];
    const before = (await journal(payments)).length;
    for (const fields of sent) {
      expect(await callBack(payments.hub.gatewayUrl, 'gateway_one', fields)).to.include({ status: 200 });
    }
    await untilStatus(payments, session, 'success'); // a slow machine responds before it settles
    const entries = (await journal(payments)).slice(0, -before || undefined).reverse();
    expect(entries.map(({ state }) => state)).to.deep.equal(['ignored', 'unresolved', 'settled']);
    for (const [index, { fields }] of entries.entries()) {
      const { status, tran_id, val_id } = sent[index] ?? expect.fail('more entries than were sent');
      expect(fields).to.include({ status, tran_id, val_id }).and.not.to.have.property('pad0');
      expect(fields['[other fields]']).to.match(/^160, \d+ bytes, SHA-256 [0-9a-f]{64}$/);
    }
    const [largest] = await query<{ bytes: number }>(
      databaseUrl,
      'select max(octet_length(c::text)) as bytes from callback c',
    );
    expect(largest?.bytes).to.be.within(4_096, 5_120);
    await untilStatus(payments, session, 'success');
  });

  it('lists callbacks newest first, page by page, by state, gateway and session', async () => {
    const session = await createSession(payments, 'gateway_one');
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    await pay(payments, session);
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    const all = await journal(payments, session);
    expect(all.map(({ state }) => state)).to.deep.equal(['ignored', 'settled', 'settled']);
    const { sessionId } = session;
    const first = await payments.admin.listCallbacks({ sessionId, pageSize: 2 });
    const { nextPageToken: pageToken } = first;
    const second = await payments.admin.listCallbacks({ sessionId, pageSize: 2, pageToken });
    expect([...first.callbacks, ...second.callbacks].map(({ callbackId }) => callbackId)).to.deep.equal(
      all.map(({ callbackId }) => callbackId),
    );
    expect(second.nextPageToken).to.equal('');
    const ignored = await payments.admin.listCallbacks({ sessionId, state: CallbackState.IGNORED });
    expect(ignored.callbacks).to.have.length(1);
    expect(
      (await payments.admin.listCallbacks({ sessionId, gateway: 'gateway_two' })).callbacks,
    ).to.have.length(0);
  });

  it('shows a callback with the requests that it caused', async () => {
    const session = await createSession(payments, 'gateway_one');
    await pay(payments, session);
    const [entry] = await journal(payments, session);
    const { callback, verifications } = await payments.admin.getCallback({
      callbackId: entry?.callbackId ?? '',
    });
    expect(callback).to.include({ gateway: 'gateway_one', sessionId: session.sessionId });
    expect(callback?.fields).to.include({ status: 'VALID', tran_id: session.merchantTransactionId });
    expect(callback?.fields).to.not.have.property('session_id');
    expect(verifications.map(({ operation, outcome }) => [operation, outcome])).to.deep.equal([
      ['validate', 'paid'],
    ]);
    for (const call of [payments.admin.getCallback, payments.admin.replayCallback]) {
      expect(await refusal(call({ callbackId: 'cb_01k0000000000000000000000' }))).to.include({
        code: 'callback_unknown',
        field: 'callbackId',
      });
    }
  });

  it('replays callbacks: a mismatch settles, a settled one changes nothing', async () => {
    const session = await createSession(payments, 'gateway_one');
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
      payments.simulator.faults.add({ kind: 'wrong_amount', operation });
    }
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    await pay(payments, session);
    expect(await statusOf(payments, session)).to.equal('failed');
    const [entry, failure] = await journal(payments, session);
    expect(entry).to.include({ state: 'mismatch' });
    const callbackId = entry?.callbackId ?? '';
    for (let time = 0; time < 3; time++) {
      const { callback } = await payments.admin.replayCallback({ callbackId });
      expect(callback).to.include({ callbackId, state: CallbackState.SETTLED });
      expect(await statusOf(payments, session)).to.equal('success');
    }
    await payments.admin.replayCallback({ callbackId: failure?.callbackId ?? '' });
    const states = (await journal(payments, session)).map(({ state }) => state);
    expect(states, 'a failure that was settled before the success').to.deep.equal(['settled', 'settled']);
    const rows = await query(
      databaseUrl,
      'select from usage_log u join charge_session c on c.id = u.id where c.merchant_transaction_id = $1',
      [session.merchantTransactionId],
    );
    expect(rows).to.have.length(1);
    const audit = await query<{ subject: string }>(
      databaseUrl,
      `select subject from audit_entry where action = 'callback.replay' and subject = $1`,
      [callbackId],
    );
    expect(audit).to.deep.equal(Array.from({ length: 3 }, () => ({ subject: callbackId })));
  });

  it('settles a replayed mismatch later if the hub fails to process it at once', async () => {
    const session = await createSession(payments, 'gateway_one');
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
      payments.simulator.faults.add({ kind: 'wrong_amount', operation });
    }
    await pay(payments, session);
    const [entry] = await journal(payments, session);
    expect(entry).to.include({ state: 'mismatch' });
    const repair = await breakCredentials();
    const failure = await payments.admin
      .replayCallback({ callbackId: entry?.callbackId ?? '' })
      .catch((error) => error);
    expect(failure).to.be.instanceOf(Error);
    await repair();
    await until(async () => (await journal(payments, session))[0]?.state === 'settled', 'it is settled');
    expect(await statusOf(payments, session)).to.equal('success');
  });

  it('gives up a callback after a day without an answer of the provider, until it is replayed', async () => {
    const session = await createSession(payments, 'gateway_one');
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const) {
      payments.simulator.faults.add({ kind: 'error_500', operation, times: 1_000 });
    }
    await pay(payments, session);
    await until(async () => (await journal(payments, session)).length === 1, 'the first attempt was made');
    expect((await journal(payments, session))[0]).to.include({ state: 'received' });
    aheadMs += DAY_MS;
    await until(
      async () => (await journal(payments, session))[0]?.state === 'dead',
      'the callback is given up',
    );
    const [dead] = await journal(payments, session);
    expect(dead?.reason).to.equal('given up: the provider answered with HTTP 500');
    expect(await statusOf(payments, session)).to.equal('pending');
    const { callbacks } = await payments.admin.listCallbacks({ state: CallbackState.DEAD });
    const callbackId = dead?.callbackId ?? '';
    expect(callbacks.map((callback) => callback.callbackId)).to.deep.equal([callbackId]);

    await payments.admin.replayCallback({ callbackId });
    // It has another day from its replay on, however old it is.
    await until(
      async () => ((await journal(payments, session))[0]?.attempts ?? 0) > (dead?.attempts ?? 0) + 1,
      'it is tried again',
    );
    expect((await journal(payments, session))[0], 'while the provider is away').to.include({
      state: 'received',
    });
    payments.simulator.faults.clear();
    const { callback } = await payments.admin.replayCallback({ callbackId });
    expect(callback).to.include({ state: CallbackState.SETTLED });
    expect(await statusOf(payments, session)).to.equal('success');
    expect((await inspect(payments, session)).usageLog).to.not.equal(undefined);
  });

  it('gives up a callback that the hub fails to process for a day', async () => {
    const session = await createSession(payments, 'gateway_one');
    const repair = await breakCredentials();
    await pay(payments, session);
    await until(async () => ((await journal(payments))[0]?.attempts ?? 0) > 0, 'an attempt was made');
    const [entry] = await journal(payments);
    expect(entry).to.include({ state: 'received', reason: 'the hub could not process it: see its log' });
    aheadMs += DAY_MS;
    const callbackId = entry?.callbackId ?? '';
    const stateOf = async () => (await payments.admin.getCallback({ callbackId })).callback?.state;
    await until(async () => (await stateOf()) === CallbackState.DEAD, 'the callback is given up');
    await repair();
    await payments.admin.replayCallback({ callbackId });
    expect(await statusOf(payments, session)).to.equal('success');
  });
});
