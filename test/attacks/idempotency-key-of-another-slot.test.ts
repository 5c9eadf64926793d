// A token of one slot uses, blocks or probes the idempotency keys of another slot.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import {
  type CreateChargeSessionRequestSchema,
  PaymentService,
} from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { refusal } from '../core/payment/refusal.ts';
import { transportTo } from '../support/hub/hub.ts';
import { type Payments, startPayments } from '../support/hub/payment.ts';

type Request = MessageInitShape<typeof CreateChargeSessionRequestSchema>;

describe('attack: the idempotency key of another slot', () => {
  let payments: Payments;
  let store: Client<typeof PaymentService>;
  let wallet: Client<typeof PaymentService>;
  before(async () => {
    payments = await startPayments();
    [store, wallet] = await Promise.all([shopOf('store'), shopOf('wallet')]);
  });
  after(() => payments.stop());

  const requestOf = (
    slot: string,
    idempotencyKey: string,
    more: Partial<{ orderReference: string }> = {},
  ): Request => ({
    slot,
    amount: { minorUnits: 5_000n, currency: 'BDT' },
    orderReference: 'ORD-9',
    idempotencyKey,
    ...more,
  });
  const create = async (shop: typeof store, request: Request) =>
    (await shop.createChargeSession(request)).session;

  it('is not blocked: a key of one slot is free in another, with any request', async () => {
    const victim = await create(wallet, requestOf('wallet', 'ORD-1'));
    const attacker = await create(store, requestOf('store', 'ORD-1', { orderReference: 'other' }));
    expect(attacker?.slot).to.equal('store');
    expect(attacker?.sessionId).to.not.equal(victim?.sessionId);
    // The reverse order gives the same result.
    await create(store, requestOf('store', 'ORD-2', { orderReference: 'other' }));
    const second = await create(wallet, requestOf('wallet', 'ORD-2'));
    expect((await create(wallet, requestOf('wallet', 'ORD-2')))?.sessionId).to.equal(second?.sessionId);
  });

  it('is not revealed: a used key and a new one get the same responses', async () => {
    await create(wallet, requestOf('wallet', 'ORD-3'));
    const ask = (key: string) => refusal(create(store, requestOf('wallet', key)));
    expect(await ask('ORD-3')).to.deep.equal(await ask('never used'));
    expect(await ask('ORD-3')).to.include({ code: 'slot_unknown' });
  });

  it('creates one session for each slot in a race of both', async () => {
    const shops = { store, wallet };
    const created = await Promise.all(
      Array.from({ length: 16 }, (_, index) => {
        const slot = index % 2 === 0 ? 'store' : 'wallet';
        return create(shops[slot], requestOf(slot, 'ORD-4'));
      }),
    );
    for (const slot of ['store', 'wallet']) {
      const ids = created.filter((session) => session?.slot === slot).map((session) => session?.sessionId);
      expect(ids).to.have.length(8);
      expect(new Set(ids)).to.have.property('size', 1);
    }
  });

  it('is still refused with a different request in its own slot', async () => {
    await create(store, requestOf('store', 'ORD-5'));
    const changed = requestOf('store', 'ORD-5', { orderReference: 'other' });
    expect(await refusal(create(store, changed))).to.include({ code: 'idempotency_key_reused' });
  });

  async function shopOf(slot: string) {
    const tokens = createClient(TokenService, payments.hub.transport);
    const { token } = await tokens.createToken({ role: Role.SERVICE, slots: [slot] });
    return createClient(PaymentService, transportTo(payments.hub.rpcUrl, token));
  }
});
