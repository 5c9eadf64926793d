import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import type { CreateChargeSessionRequestSchema } from '../../../../gen/hub/payment/v1/payment_service_pb.ts';
import { GATEWAYS, type Payments, SLOTS, startPayments } from '../../../support/hub/payment.ts';
import { refusal } from '../refusal.ts';

describe('an idempotency key', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
  });
  after(() => payments.stop());

  type Request = MessageInitShape<typeof CreateChargeSessionRequestSchema>;
  const requestOf = (idempotencyKey: string, changes: object = {}): Request => ({
    slot: 'store',
    amount: { minorUnits: 5_000n, currency: 'BDT' },
    orderReference: 'ORD-9',
    customer: { name: 'Ada', city: 'London' },
    metadata: { a: '1', b: '2' },
    idempotencyKey,
    ...changes,
  });
  const create = async (request: Request) => (await payments.sessions.createChargeSession(request)).session;

  it('makes a repeated call return the same session, also after payment, without a provider call', async () => {
    const first = await create(requestOf('key-1'));
    payments.simulator.pay(first?.providerPaymentId ?? '');
    await payments.simulator.idle();
    payments.tap.forget();
    const again = await create(requestOf('key-1', { metadata: { b: '2', a: '1' } }));
    expect(again?.sessionId).to.equal(first?.sessionId);
    expect(again?.checkoutUrl).to.equal(first?.checkoutUrl);
    expect(payments.tap.calls).to.deep.equal([]);
  });

  it('is refused with a different request', async () => {
    const first = await create(requestOf('key-2'));
    const others = [
      { amount: { minorUnits: 5_001n, currency: 'BDT' } },
      { amount: { minorUnits: 5_000n, currency: 'USD' } },
      { orderReference: 'ORD-10' },
      { customer: { name: 'Ada' } },
      { metadata: { a: '1', b: '3' } },
    ];
    for (const changes of others) {
      expect(
        await refusal(create(requestOf('key-2', changes))),
        JSON.stringify(Object.keys(changes)),
      ).to.include({
        code: 'idempotency_key_reused',
        field: 'idempotencyKey',
      });
    }
    expect((await create(requestOf('key-2')))?.sessionId).to.equal(first?.sessionId);
  });

  it('belongs to its slot: the same key at another slot creates another session', async () => {
    const [store, wallet] = await Promise.all([
      create(requestOf('key-5')),
      create(requestOf('key-5', { slot: 'wallet' })),
    ]);
    expect(store?.sessionId).to.not.equal(wallet?.sessionId);
    expect((await create(requestOf('key-5')))?.sessionId).to.equal(store?.sessionId);
    expect((await create(requestOf('key-5', { slot: 'wallet' })))?.sessionId).to.equal(wallet?.sessionId);
  });

  it('is optional: without it each call creates a session', async () => {
    const { idempotencyKey: _, ...request } = requestOf('');
    expect((await create(request))?.sessionId).to.not.equal((await create(request))?.sessionId);
  });

  for (const gateway of GATEWAYS) {
    it(`makes 20 concurrent calls create one session and one checkout at ${gateway}`, async () => {
      const before = payments.simulator.payments().length;
      const request = requestOf(`key-3-${gateway}`, { slot: SLOTS[gateway] });
      const created = await Promise.all(Array.from({ length: 20 }, () => create(request)));
      expect(new Set(created.map((session) => session?.sessionId)).size).to.equal(1);
      expect(new Set(created.map((session) => session?.checkoutUrl)).size).to.equal(1);
      expect(payments.simulator.payments().length - before).to.equal(1);
    });

    it(`makes a repeated call create the checkout that ${gateway} did not answer`, async () => {
      const operation = gateway === 'gateway_one' ? 'gateway_one.initiate' : 'gateway_two.create';
      payments.simulator.faults.add({ kind: 'error_500', operation });
      const request = requestOf(`key-4-${gateway}`, {
        slot: SLOTS[gateway],
        orderReference: `LATER-${gateway}`,
      });
      const failure = await create(request).catch(ConnectError.from);
      expect(failure).to.be.instanceOf(ConnectError).and.include({ code: Code.Unavailable });
      const session = await create(request);
      expect(session?.checkoutUrl).to.match(/^http/);
      const { sessions } = await payments.sessions.listChargeSessions({ orderReference: `LATER-${gateway}` });
      expect(sessions.map(({ sessionId }) => sessionId)).to.deep.equal([session?.sessionId]);
    });
  }
});
