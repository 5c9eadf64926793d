// A stranger calls back with validation ids that the provider's validation API cannot judge, to hide a payment.
import { expect } from 'chai';
import type { ChargeSession } from '../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  inspect,
  journal,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../support/hub/payment.ts';
import {
  addValidatedSlot,
  FORBIDDEN,
  startValidationApi,
  type ValidationAnswer,
  type ValidationApi,
} from '../support/hub/validation-api.ts';

const HOUR_MS = 3_600_000;

/** What the validation API says of an id that it does not like. */
const ANSWERS: Readonly<Record<string, ValidationAnswer>> = {
  "a firewall's 403": FORBIDDEN,
  'HTTP 500': { status: 500, body: 'Internal Server Error' },
  HTML: { status: 200, body: '<html>Maintenance</html>' },
  'an empty body': { status: 200, body: '' },
  silence: 'hangs',
  'no such payment': { status: 200, body: '{"APIConnect":"DONE","status":"INVALID_TRANSACTION"}' },
  'rejected credentials': { status: 200, body: '{"APIConnect":"FAILED"}' },
};

describe('an attacker who forges validation ids', () => {
  let payments: Payments;
  let provider: ValidationApi;
  let create: () => Promise<ChargeSession>;
  /** How far the hub's clock is ahead. */
  let aheadMs = 0;
  before(async () => {
    payments = await startPayments({
      settings: { sweepAfterMs: [HOUR_MS], providerTimeoutMs: 2_000 },
      clock: () => new Date(Date.now() + aheadMs),
    });
    provider = await startValidationApi(payments.simulator.urls.gateway_one);
    create = await addValidatedSlot(payments, provider);
  });
  after(async () => {
    await provider?.close();
    await payments?.stop();
  });

  const notify = (fields: Record<string, string>) => callBack(payments.hub.gatewayUrl, 'gateway_one', fields);
  const forge = (session: ChargeSession) =>
    notify(callbackFields(session, 'paid', `' OR 1=1 -- ${session.merchantTransactionId}`));
  /** Of the session's own payments nothing is known here, so an answer to them is the simulator's. */
  const answerForged = (answer: ValidationAnswer): void => {
    provider.answer = (id) => (id.startsWith("'") ? answer : undefined);
  };

  for (const [what, answer] of Object.entries(ANSWERS)) {
    describe(`answered by the provider with ${what}`, () => {
      beforeEach(() => answerForged(answer));

      it('does not hide a payment: the hub makes its own query in the same round', async () => {
        const session = await create();
        payQuietly(payments, session);
        await forge(session);
        await untilStatus(payments, session, 'success', 20_000);
        const calls = provider.calls.filter(({ query }) => query.includes(session.merchantTransactionId));
        expect(calls.map(({ name }) => name)).to.deep.equal(['validate', 'query']);
        expect((await inspect(payments, session)).usageLog).to.not.equal(undefined);
      });

      it('does not prevent the sweep from finding a later payment', async () => {
        const session = await create();
        // The same id each time: of several that differ the sweep would take none.
        for (let time = 0; time < 3; time++) await forge(session);
        expect(await statusOf(payments, session)).to.equal('pending');
        payQuietly(payments, session);
        aheadMs += HOUR_MS;
        await untilStatus(payments, session, 'success', 20_000);
      });
    });
  }

  it("does not prevent an operator from finding a payment: recheck and replay use the hub's own id", async () => {
    answerForged(FORBIDDEN);
    const [rechecked, replayed] = [await create(), await create()];
    for (const session of [rechecked, replayed]) {
      await forge(session);
      payQuietly(payments, session);
    }
    await payments.sessions.recheckChargeSession({ sessionId: rechecked.sessionId });
    expect(await statusOf(payments, rechecked)).to.equal('success');
    const [entry] = await journal(payments, replayed);
    await payments.admin.replayCallback({ callbackId: entry?.callbackId ?? '' });
    expect(await statusOf(payments, replayed)).to.equal('success');
  });

  it('gains nothing from an outage of the validation API', async () => {
    provider.answer = () => FORBIDDEN;
    const session = await create();
    await notify(callbackFields(session, 'paid', payQuietly(payments, session)));
    expect(await statusOf(payments, session)).to.equal('success');
    const { verifications } = await inspect(payments, session);
    expect(verifications.slice(1).map(({ operation, outcome }) => [operation, outcome])).to.deep.equal([
      ['validate', 'unavailable'],
      ['query', 'paid'],
    ]);
  });

  it('cannot settle an unpaid session', async () => {
    provider.answer = () => FORBIDDEN;
    const session = await create();
    await forge(session);
    expect(await statusOf(payments, session)).to.equal('pending');
    expect((await inspect(payments, session)).usageLog).to.equal(undefined);
  });
});
