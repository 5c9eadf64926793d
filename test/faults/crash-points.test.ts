// Kills the hub in the middle of an operation, and checks that another hub completes it.
import { expect } from 'chai';
import type { ChargeSession } from '../../gen/hub/payment/v1/payment_pb.ts';
import { callBack, callbackFields, type GatewayName } from '../support/hub/payment.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';
import { createSession, unreconciled } from './load/payment-fixture.ts';
import { type Cluster, startCluster } from './scenes/cluster.ts';

const REST_MS = 30_000;

describe('a killed hub', () => {
  let cluster: Cluster;
  before(async () => {
    // The second check is far in the future, so it does not repair what the test checks.
    cluster = await startCluster({ hubs: 1, environment: { HUB_SWEEP_AFTER_SECONDS: '2,3600' } });
  });
  after(() => cluster?.stop());

  it("between a stored callback and the provider's answer leaves it to the next hub", async () => {
    const session = await paidSession('gateway_one');
    hang('gateway_one.validate', session);
    const answer = callBackFor(session).catch(() => {}); // cut off, or answered at the end of the budget
    await untilAsked(session);
    await Promise.all([cluster.replace(0), answer]);
    await untilSettled();
    expect(await states(session)).to.deep.equal(['settled']);
  });

  it('during a replay leaves the callback to the next hub', async () => {
    const session = await createSession(cluster, { gateway: 'gateway_one', minor: 10_000 }, 0);
    await callBackFor(session);
    await until(async () => `${await states(session)}` === 'ignored', 'a claim without a payment is ignored');
    payQuietly(session);
    hang('gateway_one.query', session);
    const admin = cluster.hub(0)?.admin;
    const { callbacks = [] } = (await admin?.listCallbacks({ sessionId: session.sessionId })) ?? {};
    const replayed = admin?.replayCallback({ callbackId: callbacks[0]?.callbackId ?? '' }).catch(() => {});
    await untilAsked(session);
    // The sweep may have queried first.
    await until(async () => `${await states(session)}` !== 'ignored', 'the replay has begun');
    await Promise.all([cluster.replace(0), replayed]);
    await untilSettled();
    expect(await states(session)).to.deep.equal(['settled']);
  });

  it('during a sweep leaves the session to the next hub', async () => {
    const session = await paidSession('gateway_one');
    hang('gateway_one.query', session);
    await untilAsked(session);
    await cluster.replace(0);
    await untilSettled();
    expect(await states(session)).to.deep.equal([]);
  });

  it('during the commit of a settlement leaves one usage log entry', async () => {
    const session = await paidSession('gateway_two');
    await slowDownCommits();
    const answer = callBackFor(session).catch(() => {});
    await until(isCommitting, 'the settlement is being committed');
    await Promise.all([cluster.replace(0), answer]);
    await untilSettled();
    expect(await states(session)).to.deep.equal(['settled']);
  });

  async function paidSession(gateway: GatewayName): Promise<ChargeSession> {
    const session = await createSession(cluster, { gateway, minor: 10_000 }, 0);
    payQuietly(session);
    return session;
  }

  function payQuietly({ providerPaymentId: ref }: ChargeSession): void {
    cluster.simulator.faults.add({ kind: 'lost', operation: 'callback', ref });
    cluster.simulator.pay(ref);
  }

  function callBackFor(session: ChargeSession) {
    const proof = cluster.simulator.payments().find(({ ref }) => ref === session.providerPaymentId)?.proof;
    return callBack(cluster.door.url, session.gateway, callbackFields(session, 'paid', proof));
  }

  /** Withholds the provider's next response about the session. */
  function hang(operation: 'gateway_one.validate' | 'gateway_one.query', session: ChargeSession): void {
    cluster.simulator.faults.add({ kind: 'timeout_before', operation, ref: session.providerPaymentId });
  }

  async function untilAsked({ providerPaymentId }: ChargeSession): Promise<void> {
    const asked = () =>
      cluster.simulator.faults
        .events()
        .some(({ kind, ref }) => kind === 'timeout_before' && ref === providerPaymentId);
    await until(asked, 'the provider receives a query');
  }

  /** Waits until hub and provider agree and no work is pending. */
  async function untilSettled(): Promise<void> {
    let trouble: string[] = [];
    const isSettled = async (): Promise<boolean> => {
      trouble = [...(await unreconciled(cluster)), ...cluster.deaths];
      return trouble.length === 0;
    };
    await until(isSettled, 'all is settled', REST_MS).catch((error) => {
      throw new Error([error.message, ...trouble].join('\n'));
    });
  }

  /** The states of a session's callbacks. */
  async function states({ merchantTransactionId }: ChargeSession): Promise<string[]> {
    const rows = await query<{ state: string }>(
      cluster.databaseUrl,
      `select b.state from callback b join charge_session c on c.id = b.session_id
       where c.merchant_transaction_id = $1`,
      [merchantTransactionId],
    );
    return rows.map(({ state }) => state);
  }

  /** Delays each commit with a usage log entry, so that its hub is killed before it gets the result. */
  async function slowDownCommits(): Promise<void> {
    await query(
      cluster.databaseUrl,
      `create function take_long() returns trigger language plpgsql as $$
       begin perform pg_sleep(1); return null; end $$;
       create constraint trigger usage_log_takes_long after insert on usage_log
         deferrable initially deferred for each row execute function take_long()`,
    );
  }

  async function isCommitting(): Promise<boolean> {
    const rows = await query(
      cluster.databaseUrl,
      `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
    );
    return rows.length > 0;
  }
});
