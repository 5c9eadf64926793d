import { expect } from 'chai';
import type { FaultKind } from '../../../../cli/simulator/faults.ts';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  type CallbackAnswer,
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  inspect,
  type JournalEntry,
  journal,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../../../support/hub/payment.ts';

/** What the hub notes of each. */
const FAULTS = {
  timeout_before: /it took longer than 1500 ms/,
  timeout_after: /it took longer than 1500 ms/,
  error_500: /the provider answered with HTTP 500/,
  html: /is not JSON/,
  redirect: /redirects \(HTTP 302\)/,
  dropped: /it closed the connection/,
  empty: /answer is empty/,
  truncated: /it closed the connection|is cut off/,
  huge: /its response is larger than 1 MiB/,
} as const satisfies Partial<Record<FaultKind, RegExp>>;

const KINDS = Object.keys(FAULTS) as (keyof typeof FAULTS)[]; // the keys of a constant

type Trial = {
  readonly session: ChargeSession;
  readonly answer: CallbackAnswer;
  /** Right after the callback was answered. */
  readonly statusThen: string;
  readonly callbackThen: JournalEntry | undefined;
};

describe('a provider that answers a verification badly', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments({ settings: { callbackBudgetMs: 300, providerTimeoutMs: 1_500 } });
  });
  after(() => payments.stop());

  for (const gateway of GATEWAYS) {
    describe(`at ${gateway}`, () => {
      const operations =
        gateway === 'gateway_one'
          ? (['gateway_one.validate', 'gateway_one.query'] as const)
          : (['gateway_two.execute', 'gateway_two.query'] as const);
      const trials = new Map<FaultKind, Trial>();

      // All at the same time: each waits for its next attempt.
      before(async () => {
        const attempt = async (kind: FaultKind): Promise<void> => {
          const session = await createSession(payments, gateway);
          for (const operation of operations) {
            payments.simulator.faults.add({ kind, operation, ref: session.providerPaymentId });
          }
          const fields = callbackFields(session, 'paid', payQuietly(payments, session));
          const answer = await callBack(payments.hub.gatewayUrl, gateway, fields);
          const statusThen = await statusOf(payments, session);
          trials.set(kind, {
            session,
            answer,
            statusThen,
            callbackThen: (await journal(payments, session))[0],
          });
        };
        await Promise.all(KINDS.map(attempt));
      });

      for (const kind of KINDS) {
        it(`(${kind.replace('_', ' ')}) leaves the session unchanged, and settles it later`, async () => {
          const { session, answer, statusThen, callbackThen } = trials.get(kind) ?? expect.fail('no trial');
          expect(answer.status).to.equal(200);
          expect(statusThen).to.equal('pending');
          // The answer did not wait for the provider, which had not been given up then.
          if (kind.startsWith('timeout')) expect(callbackThen).to.equal(undefined);
          await untilStatus(payments, session, 'success', 15_000);
          const { verifications, usageLog } = await inspect(payments, session);
          const failures = verifications.filter(({ outcome }) => outcome === 'unavailable');
          expect(failures.map(({ operation }) => operation)).to.include.members(
            operations.map((operation) => operation.replace(/.*\./, '')),
          );
          for (const { detail } of failures) expect(detail).to.match(FAULTS[kind]);
          expect(usageLog).to.not.equal(undefined);
          const payment = payments.simulator.payments().find(({ ref }) => ref === session.providerPaymentId);
          expect(payment).to.include({ state: 'paid', executions: 1 });
          const [callback] = await journal(payments, session);
          expect(callback).to.include({ state: 'settled' });
          expect(callback?.attempts).to.be.at.least(2);
        });
      }

      it('is not followed to redirects', () => {
        const redirected = payments.simulator.faults.events().filter(({ kind }) => kind === 'redirect');
        expect(redirected.map(({ operation }) => operation)).to.include.members([...operations]);
        expect(payments.simulator.followedRedirects()).to.equal(0);
      });
    });
  }

  it('does not delay the response to a callback', async () => {
    const session = await createSession(payments, 'gateway_one');
    const fields = callbackFields(session, 'paid', payQuietly(payments, session));
    payments.tap.hold();
    const { status } = await callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
    expect(status).to.equal(200);
    expect(payments.tap.held(), 'answers the provider still owes').to.equal(1);
    expect(await statusOf(payments, session)).to.equal('pending');
    payments.tap.release();
    await untilStatus(payments, session, 'success');
  });
});
