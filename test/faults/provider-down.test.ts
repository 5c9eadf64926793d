// The provider is down while callbacks arrive: hubs answer in time, and process the callbacks after its
// return.
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { callBack, callbackFields, GATEWAYS } from '../support/hub/payment.ts';
import { until } from '../support/until.ts';
import { createSession, unreconciled } from './load/payment-fixture.ts';
import { readSessions } from './model/reconcile.ts';
import { type Cluster, startCluster } from './scenes/cluster.ts';

/** The long form uses HUB_TEST_OUTAGE_SECONDS=60. */
const OUTAGE_MS = 1_000 * Number(process.env['HUB_TEST_OUTAGE_SECONDS'] ?? 2);
const BUDGET_MS = 500;
const SESSIONS = 40;
const CALLBACKS_PER_SECOND = 50;

describe('callbacks while the provider is down', function () {
  // The intervals between attempts grow during the outage, so recovery takes a multiple of it.
  this.timeout(180_000 + 4 * OUTAGE_MS);
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ hubs: 2, environment: { HUB_CALLBACK_BUDGET_MS: String(BUDGET_MS) } });
  });
  after(() => cluster?.stop());

  const outages = {
    'refuses connections': () => cluster.simulator.down(OUTAGE_MS, 'refused'),
    'answers nothing': () => cluster.simulator.faults.plan({ seed: 1, rate: 1, kinds: ['timeout_before'] }),
  };
  for (const [how, begin] of Object.entries(outages)) {
    it(`that ${how} get 200 within the budget, and all settle after it is back`, async () => {
      const sessions = await paidSessions();
      begin();
      const answers = await callBackFor(OUTAGE_MS, sessions);
      cluster.simulator.faults.clear();
      expect(answers.filter(({ status }) => status !== 200)).to.deep.equal([]);
      // The budget is the hub's. The rest allows for a busy machine, as measured by the probes.
      const allowed = BUDGET_MS + 1_000 + 5 * p99(answers.map(({ probeMs }) => probeMs));
      expect(p99(answers.map(({ durationMs }) => durationMs)), '99 of 100').to.be.lessThan(allowed);
      await until(
        async () => (await unreconciled(cluster)).length === 0,
        'all callbacks are settled',
        60_000 + 2 * OUTAGE_MS,
      );
      const booked = await readSessions(cluster.databaseUrl);
      expect(booked.filter(({ status }) => status !== 'success')).to.deep.equal([]);
    });
  }

  /** Paid sessions without a callback so far, and their callbacks. */
  async function paidSessions() {
    const { simulator } = cluster;
    return Promise.all(
      Array.from({ length: SESSIONS }, async (_, turn) => {
        const gateway = GATEWAYS[turn % GATEWAYS.length] ?? 'gateway_one';
        const session = await createSession(cluster, { gateway, minor: 10_000 + turn }, turn);
        const { providerPaymentId: ref } = session;
        simulator.faults.add({ kind: 'lost', operation: 'callback', ref });
        simulator.pay(ref);
        const proof = simulator.payments().find((payment) => payment.ref === ref)?.proof;
        return { gateway, fields: callbackFields(session, 'paid', proof) };
      }),
    );
  }

  /** Sends callbacks at a steady rate for this time, several for each session. */
  async function callBackFor(ms: number, sessions: Awaited<ReturnType<typeof paidSessions>>) {
    const answers: ReturnType<typeof timed>[] = [];
    const count = Math.ceil((ms / 1_000) * CALLBACKS_PER_SECOND);
    const start = performance.now();
    for (let number = 0; number < count; number++) {
      await pause(Math.max(0, start + (1_000 * number) / CALLBACKS_PER_SECOND - performance.now()));
      const callback = sessions[number % sessions.length];
      if (callback !== undefined) answers.push(timed(callback));
    }
    return Promise.all(answers);
  }

  /** Sends the callback, and in parallel a probe that needs neither database nor provider. */
  async function timed({ gateway, fields }: { gateway: string; fields: Record<string, string> }) {
    const start = performance.now();
    const since = () => performance.now() - start;
    const [called, probeMs] = await Promise.all([
      callBack(cluster.door.url, gateway, fields).then(({ status }) => ({ status, durationMs: since() })),
      fetch(`${cluster.gateways()[0]}/healthz`).then(since),
    ]);
    return { ...called, probeMs };
  }
});

function p99(durations: readonly number[]): number {
  const sorted = durations.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}
