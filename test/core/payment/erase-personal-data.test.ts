// Erasing a customer who bought offers: which sessions are erased, and what happens to those that are paid meanwhile.
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { parseId } from '../../../core/ids.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { type Canaries, createCanaries, dumpOf } from '../../support/hub/canaries.ts';
import { callBack, callbackFields, GATEWAYS, pay, payQuietly } from '../../support/hub/payment.ts';
import { buy, createOffer, orderOf, type Sales, startSales } from '../../support/hub/sales.ts';
import { query } from '../../support/postgres/databases.ts';

describe('erasing a customer who bought offers', () => {
  let sales: Sales;
  let customers: Client<typeof CustomerService>;
  let canaries: Canaries;
  let offer: string;
  before(async () => {
    sales = await startSales();
    customers = createClient(CustomerService, sales.payments.hub.transport);
    offer = await createOffer(sales, 'pro');
  });
  after(() => sales.stop());
  beforeEach(() => {
    canaries = createCanaries();
  });

  const createCustomer = async (email?: string): Promise<string> => {
    const { customer } = await customers.createCustomer({ name: canaries.make(), ...(email && { email }) });
    return customer?.customerId ?? '';
  };
  const sql = (text: string, values: unknown[] = []) =>
    query<Record<string, unknown>>(sales.payments.hub.databaseUrl, text, values);
  const personalOf = async ({ sessionId }: ChargeSession) => {
    const [row] = await sql('select customer, metadata from charge_session where id = $1', [
      parseId('chs', sessionId),
    ]);
    return row;
  };
  const payWithPersonalFields = async (session: ChargeSession): Promise<void> => {
    const proof = payQuietly(sales.payments, session);
    await callBack(sales.payments.hub.gatewayUrl, session.gateway, {
      ...callbackFields(session, 'paid', proof),
      cus_name: canaries.make(),
      card_type: canaries.make(),
    });
  };

  it('erases the sessions with its id, whatever name and email address they have', async () => {
    for (const email of [undefined, 'owner@example.com']) {
      const customerId = await createCustomer(email);
      const request = () => ({
        customerId,
        customer: { name: canaries.make(), email: `${canaries.make()}@example.com` },
        metadata: { gift: canaries.make() },
        returnUrl: `http://localhost:3000/thanks?buyer=${canaries.make()}`,
      });
      const { session: paid } = await buy(sales, offer, request());
      const { session: pending } = await buy(sales, offer, request());
      await payWithPersonalFields(paid);
      const { session: other } = await buy(sales, offer, {
        customer: { name: 'Somebody', email: 'else@example.com' },
      });

      expect(canaries.found(await dumpOf(sales.payments.hub.databaseUrl))).not.to.deep.equal([]);
      await customers.eraseCustomer({ customerId });

      for (const session of [paid, pending]) {
        expect(await personalOf(session)).to.deep.equal({ customer: {}, metadata: {} });
      }
      expect(canaries.found(await dumpOf(sales.payments.hub.databaseUrl))).to.deep.equal([]);
      expect(await personalOf(other)).to.deep.include({
        customer: { name: 'Somebody', email: 'else@example.com' },
      });
      const order = await orderOf(sales, paid.sessionId);
      expect(order).to.include({ state: OrderState.FULFILLED, customerId });
    }
  });

  it('does not keep what a session that is paid later was sold', async () => {
    for (const gateway of GATEWAYS) {
      const customerId = await createCustomer();
      const { session } = await buy(sales, offer, { gateway, customerId, quantity: 2 });
      await customers.eraseCustomer({ customerId });
      await pay(sales.payments, session);
      const order = await orderOf(sales, session.sessionId);
      expect(order).to.include({ state: OrderState.FULFILLED, customerId });
      expect(order.licenses).to.have.length(2);
    }
  });

  it('loses no order of the sessions that are settled at the same time', async () => {
    const orders: string[] = [];
    for (let round = 0; round < 4; round++) {
      const email = `${canaries.make()}@example.com`;
      const customerId = await createCustomer(email);
      await customers.updateCustomer({
        customerId,
        externalRef: email,
        updateMask: { paths: ['external_ref'] },
      });
      // Half of them by email, the others by id.
      const sessions = await Promise.all(
        Array.from({ length: 12 }, async (_, index) => {
          const customer = {
            name: canaries.make(),
            email: index % 2 ? email : `${canaries.make()}@example.com`,
          };
          return (await buy(sales, offer, { customer, ...(index % 2 === 0 && { customerId }) })).session;
        }),
      );
      const settled = sessions.map(payWithPersonalFields);
      await Promise.all([...settled, customers.eraseCustomer({ customerId }), ...settled]);
      for (const session of sessions) {
        const order = await orderOf(sales, session.sessionId);
        expect(order).to.include({ state: OrderState.FULFILLED, customerId });
        orders.push(order.orderId);
        expect(await personalOf(session)).to.deep.equal({ customer: {}, metadata: {} });
      }
    }
    expect(new Set(orders).size).to.equal(48);
    const [{ deadlocks } = {}] = await sql(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    );
    expect(deadlocks).to.equal(0);
  });
});
